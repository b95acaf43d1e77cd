import { checkInteger, checkList, checkNumber, checkOneOf, checkText, invalid } from './check.js';
import { OnyxError, interrupted } from './error.js';
import type { components } from './generated.js';
import type { Http } from './http.js';
import { serverSentEvents } from './lines.js';

// This surface already uses camelCase on the wire.
type Schemas = components['schemas'];

const ROLES = ['user', 'assistant', 'system'] as const;
const MATCHES: readonly RagContextItem['matchType'][] = ['fts', 'vec', 'hybrid'];
const SCOPES: readonly RagContextItem['scopeType'][] = ['workspace', 'channel', 'thread', 'coworker'];

/** One message of a conversation that the caller keeps. */
export interface ChatMessage {
  role: (typeof ROLES)[number];
  content: string;
}

/** A piece of text as evidence. It reaches the model marked as untrusted, never among its instructions. */
export type RagContextItem = Schemas['RagPiece'];
export type RagContext = RagContextItem[];

/** Requests an answer of a model, without an agent; nothing is stored. */
export interface ChatCompletionRequest {
  messages: ChatMessage[];
  systemPrompt?: string;
  ragContext?: RagContext;
  /** `<provider>/<model>`, or an agent whose model is used. Absent: the default agent's. */
  model?: string;
  maxTokens?: number;
  temperature?: number;
}

export type CompletionChunk =
  | { type: 'chunk'; text: string }
  | {
      type: 'done';
      finishReason: 'stop' | 'length' | 'tool-calls';
      usage: { inputTokens: number; outputTokens: number; totalTokens: number };
    };

type Part =
  | { type: 'text-delta'; delta: string }
  | { type: 'error'; errorText: string }
  | { type: 'finish'; messageMetadata: Omit<Extract<CompletionChunk, { type: 'done' }>, 'type'> }
  | { type: 'start' | 'start-step' | 'finish-step' };

/** Streams the text of a model's answer (`/api/v1/chat`). Leaving the loop stops it; a cut stream is `interrupted`. */
export async function* completion(
  http: Http,
  request: ChatCompletionRequest,
  signal?: AbortSignal,
): AsyncGenerator<CompletionChunk> {
  checkCompletion(request);
  const response = await http.response('/api/v1/chat', { body: request, signal });
  try {
    for await (const { data } of response.body ? serverSentEvents(response.body) : []) {
      if (data === '[DONE]') break;
      const part = JSON.parse(data) as Part;
      if (part.type === 'text-delta') yield { type: 'chunk', text: part.delta };
      else if (part.type === 'error') throw failed(part.errorText);
      else if (part.type === 'finish') return yield { type: 'done', ...part.messageMetadata };
    }
  } catch (error) {
    if (signal?.aborted || error instanceof OnyxError) throw error;
  }
  throw interrupted();
}

const failed = (message: string) =>
  new OnyxError({ code: 'provider_unavailable', message, hint: 'Try again, or choose another model.' });

export function checkCompletion(request: ChatCompletionRequest): void {
  const { messages, systemPrompt, ragContext, model, maxTokens, temperature } = request;
  checkList('messages', messages);
  if (messages.length === 0) throw invalid('messages', 'must hold at least one message');
  for (const [index, { role, content }] of messages.entries()) {
    checkOneOf(`messages[${index}].role`, role ?? '', ROLES);
    checkText(`messages[${index}].content`, content);
  }
  if (systemPrompt !== undefined) checkText('systemPrompt', systemPrompt);
  if (model !== undefined) checkText('model', model);
  checkInteger('maxTokens', maxTokens, 1);
  checkNumber('temperature', temperature, [0, 2]);
  if (ragContext === undefined) return;
  checkList('ragContext', ragContext);
  for (const [index, item] of ragContext.entries()) checkEvidence(`ragContext[${index}]`, item);
}

function checkEvidence(at: string, item: RagContextItem): void {
  for (const name of ['sourceId', 'chunkId', 'text', 'sourceName'] as const) checkText(`${at}.${name}`, item[name]);
  checkNumber(`${at}.score`, item.score ?? Number.NaN, [-Infinity, Infinity]);
  checkOneOf(`${at}.matchType`, item.matchType ?? '', MATCHES);
  checkOneOf(`${at}.scopeType`, item.scopeType ?? '', SCOPES);
}
