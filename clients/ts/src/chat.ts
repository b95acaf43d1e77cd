import { checkText, checkUuid, invalid } from './check.js';
import { completion, type ChatCompletionRequest, type CompletionChunk } from './completions.js';
import { OnyxError } from './error.js';
import type { Http } from './http.js';
import { runLines, type RunLine } from './run-lines.js';
import type { ChatChunk, ChatRequest, Fault } from './types.js';
import type { Schema, Sent } from './wire.js';

/** A run's whole answer. */
export type ChatReply = Schema<'ChatReply'>;
/** The messages of a session, with each answer as one message. */
export type ChatHistory = Schema<'History'>;

export interface StreamOptions {
  signal?: AbortSignal;
}

export class Chat {
  constructor(private readonly http: Http) {}

  /**
   * Streams the text of an answer. With `message` an agent answers in a session: a `confirm` pauses the run until it
   * is decided through `drafts`, a `draft` can be decided later. With `messages` a model answers, and nothing is
   * stored. Leaving the loop, or aborting, stops the answer.
   */
  stream(request: ChatRequest, options?: StreamOptions): AsyncGenerator<ChatChunk>;
  stream(request: ChatCompletionRequest, options?: StreamOptions): AsyncGenerator<CompletionChunk>;
  stream(
    request: ChatRequest | ChatCompletionRequest,
    { signal }: StreamOptions = {},
  ): AsyncGenerator<ChatChunk> | AsyncGenerator<CompletionChunk> {
    return 'messages' in request ? completion(this.http, request, signal) : this.words(request, signal);
  }

  /** A model's answer to messages that the caller keeps; the same as `stream` with `messages`. */
  complete(request: ChatCompletionRequest, { signal }: StreamOptions = {}): AsyncGenerator<CompletionChunk> {
    return completion(this.http, request, signal);
  }

  /** Streams every event of the agent's run, its tool calls included. */
  async *events(request: ChatRequest, { signal }: StreamOptions = {}): AsyncGenerator<RunLine> {
    yield* runLines(this.http, '/api/agent/chat-stream', bodyOf(request), signal);
  }

  /** Returns the whole answer at once. While it runs, other callers decide its confirmations. */
  async send(request: ChatRequest, { signal }: StreamOptions = {}): Promise<ChatReply> {
    return this.http.json('/api/agent/chat', { body: bodyOf(request), signal });
  }

  /** Stops it; returns whether there was something to stop. */
  async stop(target: { sessionId: string } | { runId: string }): Promise<boolean> {
    const { sessionId, runId } = target as { sessionId?: string; runId?: string };
    if (sessionId === undefined && runId === undefined) throw invalid('target', 'must name a `sessionId` or a `runId`');
    const body = { session_id: sessionId, run_id: runId };
    return (await this.http.json<{ stopped: boolean }>('/api/agent/stop', { body })).stopped;
  }

  /** Archives a session and starts another one; returns its id. */
  async clear(sessionId: string): Promise<string> {
    checkUuid('sessionId', sessionId);
    const body: Sent<'SessionRequest'> = { session_id: sessionId };
    return (await this.http.json<{ sessionId: string }>('/api/agent/session/clear', { body })).sessionId;
  }

  async history(sessionId: string, page: { before?: number; limit?: number } = {}): Promise<ChatHistory> {
    checkUuid('sessionId', sessionId);
    return this.http.json('/api/agent/session/history', { query: { session_id: sessionId, ...page } });
  }

  private async *words(request: ChatRequest, signal?: AbortSignal): AsyncGenerator<ChatChunk> {
    let fault: Fault | undefined;
    let place = { sessionId: '', runId: '' };
    for await (const line of this.events(request, { signal })) {
      if (line.type === 'text') yield { type: 'chunk', text: line.delta };
      else if (line.type === 'start') place = { sessionId: line.sessionId, runId: line.runId };
      else if (line.type === 'draft' || line.type === 'confirm') yield { ...line, ...place };
      else if (line.type === 'error') fault = line;
      else if (line.type === 'done') {
        if (fault && line.status === 'error') throw new OnyxError(fault, undefined, { details: place });
        const { sessionId, runId, usage } = line;
        yield { type: 'done', finishReason: line.status, sessionId, runId, usage };
      }
    }
  }
}

function bodyOf(request: ChatRequest): Partial<Sent<'ChatRequest'>> {
  const { message, sessionId, agent, dryRun, temporary, confirm } = request;
  checkText('message', message);
  checkUuid('sessionId', sessionId);
  if (agent !== undefined) checkText('agent', agent);
  return { message, session_id: sessionId, agent, dry_run: dryRun, temporary, confirm };
}
