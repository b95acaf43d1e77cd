import { OnyxError } from './error.js';
import type { Http } from './http.js';
import type {
  ApprovalScope,
  ChangeEvent,
  Draft,
  DraftState,
  EventEnvelope,
  Fault,
  RunEvent,
  SendRequest,
  SendResult,
  ServerStatus,
  SessionList,
  SessionPage,
} from './types.js';

const RETRY_FIRST_MS = 150;
const RETRY_LONGEST_MS = 4_000;
const ANSWER_LIMIT_MS = 30_000;
const UNAUTHENTICATED = 4401;

export type Link = 'connecting' | 'online' | 'offline' | 'unauthenticated';

export interface Listeners {
  /**
   * Called when the state of the connection changes; with `unauthenticated` comes the server's reason, if it gave one.
   */
  link?: (link: Link, refusal?: Fault) => void;
  event?: (envelope: EventEnvelope) => void;
  change?: (change: ChangeEvent) => void;
}

interface Waiting {
  resolve: (data: never) => void;
  reject: (error: OnyxError) => void;
  timer: ReturnType<typeof setTimeout>;
}

/**
 * One connection for everything live. It reconnects automatically, and the runs it followed continue
 * from the last event it saw: none is lost, none comes twice.
 */
export class Socket {
  private socket?: WebSocket;
  private state: Link = 'connecting';
  private closed = false;
  private pause = RETRY_FIRST_MS;
  private retry?: ReturnType<typeof setTimeout>;
  private counter = 0;
  private refusal?: Fault;
  private readonly waiting = new Map<string, Waiting>();
  private readonly followed = new Map<string, number>();

  constructor(
    private readonly http: Http,
    private readonly listeners: Listeners = {},
    private readonly make: (url: string) => WebSocket = (url) => new WebSocket(url),
  ) {}

  get link(): Link {
    return this.state;
  }

  connect(): void {
    this.closed = false;
    // The same failure is reported again if this attempt ends with it too.
    this.state = 'connecting';
    this.open();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.retry);
    this.socket?.close(1000);
  }

  /** Reconnects at once, for a device that is back online. */
  wake(): void {
    if (this.closed || this.state === 'online' || this.state === 'connecting') return;
    clearTimeout(this.retry);
    this.pause = RETRY_FIRST_MS;
    this.open();
  }

  send(request: SendRequest): Promise<SendResult> {
    return this.ask('chat.send', request);
  }

  /** With an agent, only that agent's answer stops. */
  abort(target: { sessionId: string } | { runId: string; agent?: string }): Promise<{ stopped: boolean }> {
    return this.ask('chat.abort', target);
  }

  status(): Promise<ServerStatus> {
    return this.ask('status.get', {});
  }

  sessions(filter: { q?: string; status?: string; before?: string; limit?: number } = {}): Promise<SessionList> {
    return this.ask('sessions.list', filter);
  }

  session(sessionId: string, page: { before?: number; limit?: number } = {}): Promise<SessionPage> {
    return this.ask('sessions.get', { sessionId, ...page });
  }

  async drafts(filter: { state?: DraftState; session?: string; limit?: number } = {}): Promise<Draft[]> {
    return (await this.ask<{ drafts: Draft[] }>('drafts.list', filter)).drafts;
  }

  /** The draft after the decision. */
  decide(verdict: {
    draftId: string;
    decision: 'approve' | 'reject';
    reason?: string;
    scope?: ApprovalScope;
    planHash?: string;
  }): Promise<Draft> {
    return this.ask('drafts.decide', verdict);
  }

  /** Follows the events of a run after `after`, across lost connections, until it is done. */
  async follow(runId: string, after = 0): Promise<void> {
    this.followed.set(runId, after);
    try {
      await this.ask('chat.resume', { runId, after });
    } catch (error) {
      if (error instanceof OnyxError && !error.isOffline) this.followed.delete(runId);
      throw error;
    }
  }

  private ask<T>(type: string, data: object): Promise<T> {
    const id = `q${(this.counter += 1)}`;
    return new Promise<T>((resolve, reject) => {
      if (this.state !== 'online') return reject(lost());
      const timer = setTimeout(() => this.settle(id, (waiting) => waiting.reject(lost())), ANSWER_LIMIT_MS);
      this.waiting.set(id, { resolve, reject, timer });
      this.socket?.send(JSON.stringify({ type, id, data }));
    });
  }

  private settle(id: string, how: (waiting: Waiting) => void): void {
    const waiting = this.waiting.get(id);
    if (!waiting) return;
    clearTimeout(waiting.timer);
    this.waiting.delete(id);
    how(waiting);
  }

  private enter(link: Link, refusal?: Fault): void {
    if (this.state === link) return;
    this.state = link;
    this.listeners.link?.(link, refusal);
  }

  private open(): void {
    const socket = this.make(`${this.http.baseUrl.replace(/^http/, 'ws')}/ws`);
    this.socket = socket;
    this.refusal = undefined;
    socket.onopen = () => this.greet(socket);
    socket.onmessage = (message) => this.receive(socket, String(message.data));
    socket.onclose = (event) => this.ended(socket, event.code);
    socket.onerror = () => undefined;
  }

  /** Authenticates with a token, or with the page key for the cookie that the browser sent with the upgrade. */
  private greet(socket: WebSocket): void {
    const token = this.http.currentToken();
    const data = token ? { token } : { pageKey: this.http.currentPageKey() };
    socket.send(JSON.stringify({ type: 'auth', id: 'hello', data }));
  }

  private receive(socket: WebSocket, text: string): void {
    if (socket !== this.socket) return;
    const frame = JSON.parse(text) as { type: string; id?: string; data?: unknown; error?: Fault };
    if (frame.id === 'hello' && !frame.error) return this.welcomed();
    if (frame.type === 'error') this.refusal = frame.error;
    if (frame.type === 'event') return this.listeners.change?.(frame.data as ChangeEvent);
    if (frame.type.endsWith('.result') && frame.id !== undefined) {
      const { error, data } = frame;
      this.settle(frame.id, ({ resolve, reject }) => (error ? reject(new OnyxError(error)) : resolve(data as never)));
      return;
    }
    if (frame.type.startsWith('chat.'))
      this.deliver(frame.type.slice('chat.'.length), frame.data as Record<string, unknown>);
  }

  private deliver(type: string, data: Record<string, unknown>): void {
    const { sessionId, runId, seq, agent, ...fields } = data as unknown as EventEnvelope & Record<string, unknown>;
    // A connection that was considered dead may still have delivered events; events seen before are skipped.
    if (seq <= (this.followed.get(runId) ?? 0)) return;
    if (type === 'done') this.followed.delete(runId);
    else this.followed.set(runId, seq);
    this.listeners.event?.({ sessionId, runId, seq, agent, event: { ...fields, type } as unknown as RunEvent });
  }

  private welcomed(): void {
    this.pause = RETRY_FIRST_MS;
    this.enter('online');
    for (const [runId, after] of this.followed) {
      this.follow(runId, after).catch(() => undefined);
    }
  }

  private ended(socket: WebSocket, code: number): void {
    if (socket !== this.socket) return;
    for (const id of [...this.waiting.keys()]) this.settle(id, ({ reject }) => reject(lost()));
    if (this.closed) return;
    if (code === UNAUTHENTICATED) return this.enter('unauthenticated', this.refusal);
    this.enter('offline');
    this.retry = setTimeout(() => this.open(), this.pause * (0.75 + Math.random() / 2));
    this.pause = Math.min(this.pause * 2, RETRY_LONGEST_MS);
  }
}

function lost(): OnyxError {
  return new OnyxError({
    code: 'offline',
    message: 'The connection to the server is lost.',
    hint: 'It reconnects automatically; nothing that was acknowledged is lost.',
  });
}
