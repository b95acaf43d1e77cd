// One request to a model through Pi: translates messages for Pi, and Pi's events back. Tools are never executed here.

import {
  type Api,
  getModels,
  getProviders,
  type Message as PiMessage,
  type Model,
  stream,
} from '@earendil-works/pi-ai';
import { NotSignedIn, type SignIns } from './auth.js';
import type { Ask, Message, Reply, Trouble } from './protocol.js';
import { type Seen, watching } from './responses.js';

type Say = (reply: Reply) => void;

export async function answer(ask: Ask, signIns: SignIns, baseUrl: string | undefined, signal: AbortSignal, say: Say) {
  const fail = (trouble: Trouble, message: string, wait?: number) =>
    say({ type: 'failed', id: ask.id, trouble, message, ...(wait !== undefined && { retry_after_ms: wait }) });
  const slash = ask.model.indexOf('/');
  const [provider, name] = [ask.model.slice(0, slash), ask.model.slice(slash + 1)];
  const model = find(provider, name);
  if (!model) return fail('unknown_model', `Pi knows no model ${ask.model}`);
  let apiKey: string;
  try {
    apiKey = await signIns.key(provider);
  } catch (error) {
    if (error instanceof NotSignedIn) return fail('auth', error.message);
    throw error;
  }
  const facts: Seen = { status: 0 };
  const context = {
    systemPrompt: ask.system,
    messages: ask.messages.flatMap((message) => toPi(message, model, ask)),
    tools: ask.tools as never,
  };
  const options = {
    apiKey,
    signal,
    // Onyx retries itself and tells the person about it.
    maxRetries: 0,
    maxTokens: ask.max_tokens,
    temperature: ask.temperature,
    sessionId: ask.session,
  };
  const events = watching(facts, () => stream(baseUrl ? { ...model, baseUrl } : model, context, options));
  for await (const event of events) {
    if (event.type === 'text_delta') say({ type: 'text', id: ask.id, delta: event.delta });
    else if (event.type === 'thinking_delta') say({ type: 'thinking', id: ask.id, delta: event.delta });
    else if (event.type === 'error') {
      if (event.reason === 'aborted') return fail('cancelled', 'the call was cancelled');
      const told = event.error.errorMessage ?? 'the provider failed';
      return fail(troubleOf(facts.status), told.replaceAll(apiKey, '***'), facts.waitMs);
    } else if (event.type === 'done') {
      for (const part of event.message.content) {
        if (part.type === 'toolCall')
          say({ type: 'call', id: ask.id, call: { id: part.id, name: part.name, arguments: part.arguments } });
      }
      const { input, output, cacheRead, cacheWrite } = event.message.usage;
      const reason = event.reason === 'toolUse' ? 'tool_calls' : event.reason;
      say({
        type: 'done',
        id: ask.id,
        reason,
        usage: { input: input + cacheRead + cacheWrite, output, cache_read: cacheRead, cache_write: cacheWrite },
      });
      return;
    }
  }
}

function find(provider: string, name: string): Model<Api> | undefined {
  const known = getProviders().find((one) => one === provider);
  if (!known) return undefined;
  const models = getModels(known) as Model<Api>[];
  return models.find((model) => model.id === name);
}

function troubleOf(status: number): Trouble {
  if (status === 401 || status === 403) return 'auth';
  if (status === 429) return 'rate_limited';
  if (status === 529 || status === 503) return 'overloaded';
  if (status === 413) return 'context_length';
  if (status >= 400 && status < 500) return 'invalid_request';
  return 'unavailable';
}

function toPi(message: Message, model: Model<Api>, ask: Ask): PiMessage[] {
  const timestamp = Date.now();
  switch (message.role) {
    case 'user':
      return [
        {
          role: 'user',
          timestamp,
          content: message.content.map((part) =>
            part.type === 'text'
              ? { type: 'text', text: part.text }
              : { type: 'image', mimeType: part.media_type, data: part.data },
          ),
        },
      ];
    case 'assistant': {
      const text = message.text ? [{ type: 'text' as const, text: message.text }] : [];
      const calls = message.calls.map((call) => ({ type: 'toolCall' as const, ...call }));
      const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
      return [
        {
          role: 'assistant',
          content: [...text, ...calls],
          api: model.api,
          provider: model.provider,
          model: model.id,
          usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost },
          stopReason: calls.length > 0 ? 'toolUse' : 'stop',
          timestamp,
        },
      ];
    }
    case 'tool':
      return message.results.map((result) => ({
        role: 'toolResult',
        toolCallId: result.id,
        toolName: nameOf(result.id, ask),
        content: [{ type: 'text', text: (result.ok ? result.content : result.error) ?? '' }],
        isError: !result.ok,
        timestamp,
      }));
  }
}

function nameOf(id: string, ask: Ask): string {
  const calls = ask.messages.flatMap((message) => (message.role === 'assistant' ? message.calls : []));
  return calls.find((call) => call.id === id)?.name ?? '';
}
