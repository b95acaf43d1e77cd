import { route } from './check.js';
import { interrupted } from './error.js';
import type { components } from './generated.js';
import type { Call, Http } from './http.js';
import { serverSentEvents } from './lines.js';
import type { Schema } from './wire.js';

// This surface already uses camelCase on the wire.
type Schemas = components['schemas'];

/** An agent as the persona editor shows it. */
export type Persona = Schemas['PersonaView'];
/** A test input: a message to try a persona with. */
export type TestInput = Schemas['TestInputView'];
export type PersonaTurn = Schemas['PersonaTurn'];
export type PersonaEvent = Schema<'PersonaEvent'>;

/** A run that belongs to its caller: leaving its events before the last one stops the run. */
export interface PersonaRun {
  sessionId: string;
  runId: string;
  events: AsyncGenerator<PersonaEvent>;
}

/** Agents as personas: their texts, their test inputs, and the agent that edits them. */
export class Personas {
  constructor(private readonly http: Http) {}

  async get(id: string): Promise<Persona> {
    return this.http.json(at(id));
  }

  /** Creates a persona, or changes its named fields. */
  async put(id: string, change: { name?: string; systemPrompt?: string }): Promise<Persona> {
    return this.http.json(at(id), { method: 'PUT', ...named(change) });
  }

  async remove(id: string): Promise<void> {
    await this.http.response(at(id), { method: 'DELETE' });
  }

  async testInputs(id: string): Promise<TestInput[]> {
    return (await this.http.json<{ testInputs: TestInput[] }>(`${at(id)}/test-inputs`)).testInputs;
  }

  async testInput(id: string, input: string): Promise<TestInput> {
    return this.http.json(at(id, input));
  }

  async createTestInput(id: string, content: string): Promise<TestInput> {
    return this.http.json(`${at(id)}/test-inputs`, named({ content }));
  }

  async updateTestInput(id: string, input: TestInput): Promise<TestInput> {
    return this.http.json(at(id, input.id), { method: 'PUT', ...named({ content: input.content }) });
  }

  async removeTestInput(id: string, input: string): Promise<void> {
    await this.http.response(at(id, input), { method: 'DELETE' });
  }

  /** Runs the persona on a message, without its memory and without the right to change anything. */
  async runTestInput(id: string, input: string, signal?: AbortSignal): Promise<PersonaRun> {
    return this.start(`${at(id, input)}/run`, { ...named({}), signal });
  }

  /** Sends a message to the agent that edits the persona. */
  async chat(personaId: string, message: string, signal?: AbortSignal): Promise<PersonaRun> {
    return this.start('/api/persona-agent/chat', { ...named({ personaId, message }), signal });
  }

  /** Archives the conversation with the editor; returns the next session. */
  async clear(personaId: string): Promise<string> {
    return (await this.http.json<{ sessionId: string }>('/api/persona-agent/clear', named({ personaId }))).sessionId;
  }

  async history(
    personaId: string,
    page: { before?: number; limit?: number } = {},
  ): Promise<{ turns: PersonaTurn[]; before?: number | null }> {
    return this.http.json('/api/persona-agent/history', { query: { personaId, ...page } });
  }

  private async start(path: string, call: Call): Promise<PersonaRun> {
    const response = await this.http.response(path, call);
    const header = (name: string) => response.headers.get(name) ?? '';
    return { sessionId: header('x-onyx-session-id'), runId: header('x-onyx-run-id'), events: events(response.body) };
  }
}

const at = (id: string, input?: string) =>
  route`/api/storage/personas/${{ id }}${input === undefined ? '' : route`/test-inputs/${{ input }}`}`;

const named = (body: object): Call => ({ body });

async function* events(body: ReadableStream<Uint8Array> | null): AsyncGenerator<PersonaEvent> {
  if (body) {
    for await (const { data } of serverSentEvents(body)) {
      const event = JSON.parse(data) as PersonaEvent;
      yield event;
      if (event.type === 'done') return;
    }
  }
  throw interrupted();
}
