/** What Onyx tells a hook. Words, arguments and results are there where `grants.content` is true. */
export interface HookEvent {
  person: string;
  agent: string;
  session: string;
  run: string;
  tool?: string;
  effect?: 'read' | 'write' | 'reach' | 'execute' | 'destroy';
  arguments?: unknown;
  summary?: string;
  ok?: boolean;
  output?: string;
  text?: string;
  status?: string;
}

export type EventName =
  | 'on_start'
  | 'on_message'
  | 'before_run'
  | 'before_tool'
  | 'after_tool'
  | 'after_run'
  | 'on_stop';

/** A message that somebody wrote on the plugin's network. */
export interface IncomingMessage {
  /** Among those of its peer; the same whenever it is brought. */
  id: string;
  /** Who wrote, or the group it was written in. */
  peer: string;
  text: string;
  name?: string;
  thread?: string;
  author?: { id: string; name: string };
  group?: boolean;
  /** Said to the agent; in a group it is only answered then. */
  addressed?: boolean;
  press?: { id: string; data: string };
}

/** A message to be sent. The same `key` is the same message, however often it comes. */
export interface OutgoingMessage {
  connector: string;
  key: string;
  peer: string;
  thread: string;
  text: string;
  buttons: { label: string; data: string }[];
}

type MaybePromise<T> = T | Promise<T>;

export class Veto extends Error {}
export class Refused extends Error {}

export class Plugin {
  /** As `plugins.<name>` of onyx.json says it; there from `onStarted` on. */
  readonly config: Record<string, unknown>;
  /** The granted secrets, by name. */
  readonly secrets: Record<string, string>;
  /** The handler returns nothing, or words as a note; a hook that may say no throws a `Veto`. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement is one too.
  hook(event: EventName, handle: (event: HookEvent) => MaybePromise<string | void>): this;
  /** The sender returns the network's id of the message. */
  connector(name: string, send: (message: OutgoingMessage) => MaybePromise<string>): this;
  typing(show: (where: { connector: string; peer: string; thread: string }) => void): this;
  onStarted(begin: () => MaybePromise<void>): this;
  deliver(connector: string, message: IncomingMessage): Promise<void>;
  run(): Promise<void>;
}
