import { route } from './check.js';
import { interrupted } from './error.js';
import type { components } from './generated.js';
import type { Call, Http } from './http.js';
import { serverSentEvents } from './lines.js';

// This surface speaks camelCase on the wire already.
type Schemas = components['schemas'];

/** An agent as whoever describes it sees it. */
export type Persona = Schemas['PersonaView'];
/** Something to say to a persona, to see how it answers. */
export type TestInput = Schemas['TestInputView'];
export type PersonaTurn = Schemas['PersonaTurn'];
export type PersonaEvent = Schemas['PersonaEvent'];

/** A run that belongs to its caller: who leaves its events before the last one stops it. */
export interface PersonaRun {
  sessionId: string;
  runId: string;
  events: AsyncGenerator<PersonaEvent>;
}

/** Agents as personas: their texts, what to try them with, and the agent that edits them. */
export class Personas {
  constructor(private readonly http: Http) {}

  async get(id: string): Promise<Persona> {
    return this.http.json(at(id));
  }

  /** What is not named stays as it is; a persona that is not there is made. */
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

  /** What the persona answers, without its memory of anybody and without the right to change anything. */
  async runTestInput(id: string, input: string, signal?: AbortSignal): Promise<PersonaRun> {
    return this.start(`${at(id, input)}/run`, { ...named({}), signal });
  }

  /** Words to the agent that edits the persona. */
  async chat(personaId: string, message: string, signal?: AbortSignal): Promise<PersonaRun> {
    return this.start('/api/persona-agent/chat', { ...named({ personaId, message }), signal });
  }

  /** Puts the conversation with the editor away; the session of the next one. */
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
