/** An event for a hook. Texts, arguments and results are included if `grants.content` is true. */
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
  /** The id of the message among those of its peer. It is the same each time the message is delivered. */
  id: string;
  /** The person who wrote, or the group in which they wrote. */
  peer: string;
  text: string;
  name?: string;
  thread?: string;
  author?: { id: string; name: string };
  group?: boolean;
  /** Whether the message addresses the agent. In a group only such messages are answered. */
  addressed?: boolean;
  press?: { id: string; data: string };
}

/** A message to send. Messages with the same `key` are the same message, however often they come. */
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
  /** The settings in `plugins.<name>` of onyx.json; available from `onStarted` on. */
  readonly config: Record<string, unknown>;
  /** The granted secrets, by name. */
  readonly secrets: Record<string, string>;
  /** Registers a handler. It returns nothing, or a text as a note; a hook that may veto throws a `Veto`. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement is one too.
  hook(event: EventName, handle: (event: HookEvent) => MaybePromise<string | void>): this;
  /** Registers a sender, which returns the network's id of the message. */
  connector(name: string, send: (message: OutgoingMessage) => MaybePromise<string>): this;
  typing(show: (where: { connector: string; peer: string; thread: string }) => void): this;
  onStarted(begin: () => MaybePromise<void>): this;
  deliver(connector: string, message: IncomingMessage): Promise<void>;
  run(): Promise<void>;
}
