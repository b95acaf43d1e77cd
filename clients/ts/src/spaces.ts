import { checkOneOf, checkText, route } from './check.js';
import { OnyxError } from './error.js';
import type { Http } from './http.js';
import { serverSentEvents } from './lines.js';
import type { MemoryAnswer } from './memory.js';
import { sleep } from './sleep.js';
import { withMediaType } from './files.js';
import type { AsksFor, CallLabel, CallReport, Fault, Preview, Usage } from './types.js';
import type { Schema } from './wire.js';

const RETRY_FIRST_MS = 200;
const RETRY_LONGEST_MS = 5_000;

export type Space = Schema<'SpaceView'>;
/** The kinds of entities in a space, as they appear in addresses. */
export type EntityPlace = 'pages' | 'tasks' | 'refs' | 'projects';
export type EntityKind = Schema<'EntityKind'>;
/** A page, task, ref or project. Lists leave out the `body`. */
export interface Entity extends Omit<Schema<'EntityView'>, 'fields'> {
  /** Other keys of its front matter, unchanged. */
  fields: Record<string, string>;
}

/** Absent fields stay unchanged; an empty status or field is removed. */
export interface EntityChange {
  title?: string;
  status?: string;
  tags?: string[];
  fields?: Record<string, string | null>;
  body?: string;
}

/** Content from outside for a new ref: an address, a text, or a file as base64. */
export type Capture = { title?: string; tags?: string[] } & (
  | { url: string }
  | { text: string }
  | { data: string; name: string; mediaType?: string }
);

export type Companion = Schema<'CompanionView'>;
export type CompanionMessage = Schema<'ConversationMessage'>;

/** What the person is looking at while they write. */
export interface View {
  entityType: string;
  entityId: string;
}

export type CompanionEvent =
  | {
      type: 'tool';
      id: string;
      tool: string;
      argsSummary: string;
      status: 'running' | 'ok' | 'failed';
      label?: CallLabel;
      report?: CallReport;
    }
  | { type: 'delta'; text: string }
  | { type: 'draft'; pendingChangeId: string; summary: string }
  | {
      type: 'confirm';
      pendingChangeId: string;
      tool: string;
      summary: string;
      preview: Preview;
      asksFor: AsksFor;
      expiresAt: string;
    }
  | { type: 'done'; assistantMessageId: string | null; usage: Usage }
  | ({ type: 'error' } & Fault);

/** An event and the run it belongs to; no run if the message could not be answered at all. */
export interface CompanionEnvelope {
  runId?: string;
  event: CompanionEvent;
}

/** Spaces, their entities and their companions. */
export class Spaces {
  constructor(private readonly http: Http) {}

  async list(): Promise<Space[]> {
    return (await this.http.json<{ spaces: Space[] }>('/api/spaces')).spaces;
  }

  async get(space: string): Promise<Space> {
    return this.http.json(at(space));
  }

  async create(space: { name: string; id?: string; defaultAgent?: string }): Promise<Space> {
    const { name, id, defaultAgent } = space;
    checkText('name', name);
    return this.http.json('/api/spaces', { body: { name, id, default_agent: defaultAgent } });
  }

  async update(
    space: string,
    change: { name?: string; defaultAgent?: string | null; tier?: Schema<'Tier'> },
  ): Promise<Space> {
    const { name, defaultAgent, tier } = change;
    return this.http.json(at(space), { method: 'PATCH', body: { name, default_agent: defaultAgent, tier } });
  }

  async remove(space: string): Promise<void> {
    await this.http.response(at(space), { method: 'DELETE' });
  }

  /** Last changed first; pass `before` of an answer to get the next page. */
  async entities(
    space: string,
    place: EntityPlace,
    query: { status?: string; before?: string; limit?: number } = {},
  ): Promise<{ entities: Entity[]; before?: string }> {
    return this.http.json(at(space, place), { query });
  }

  /** The entities of a place that link to this one. */
  async linksTo(space: string, place: EntityPlace, to: { place: EntityPlace; id: string }): Promise<Entity[]> {
    const query = { links_to: `${to.place}/${to.id}`, limit: 500 };
    return (await this.http.json<{ entities: Entity[] }>(at(space, place), { query })).entities;
  }

  async entity(space: string, place: EntityPlace, id: string): Promise<Entity> {
    return this.http.json(at(space, place, id));
  }

  async add(space: string, place: EntityPlace, entity: EntityChange & { title: string }): Promise<Entity> {
    checkText('title', entity.title);
    return this.http.json(at(space, place), { body: entity });
  }

  /** With `version`, only that version is replaced; a newer one gives `version_conflict`. */
  async change(space: string, place: EntityPlace, id: string, change: EntityChange, version?: string): Promise<Entity> {
    return this.http.json(at(space, place, id), { method: 'PATCH', body: change, headers: ifMatch(version) });
  }

  async take(space: string, place: EntityPlace, id: string, version?: string): Promise<void> {
    await this.http.response(at(space, place, id), { method: 'DELETE', headers: ifMatch(version) });
  }

  /** The new ref. */
  async capture(space: string, capture: Capture): Promise<Entity> {
    return this.http.json(`${at(space)}/capture`, { body: withMediaType(capture) });
  }

  /** Searches one space or all; `types` are separated by commas. */
  async search(
    query: { q: string; space?: string; types?: string; limit?: number },
    signal?: AbortSignal,
  ): Promise<MemoryAnswer> {
    checkText('q', query.q);
    return this.http.json('/api/search', { query, signal });
  }

  /** The companion conversation of a space; created if there is none. */
  async companion(space: string): Promise<Companion> {
    return this.http.json(`${at(space)}/companion`);
  }

  async messages(
    conversation: string,
    page: { before?: string; limit?: number } = {},
  ): Promise<{ messages: CompanionMessage[]; before?: string }> {
    return this.http.json(route`/api/conversations/${{ conversation }}/messages`, { query: page });
  }

  /** Stores a message; `stream` requests its answer. */
  async post(conversation: string, content: string, view?: View): Promise<string> {
    checkText('content', content);
    // The view's names are camelCase on this wire.
    const { messageId } = await this.http.json<{ messageId: string }>(
      route`/api/conversations/${{ conversation }}/messages`,
      {
        body: { content, view },
      },
    );
    return messageId;
  }

  /**
   * Requests the answer to a message, joins a running one, or replays a finished one; by default the
   * latest message. A message whose last run failed, was stopped or broke off is run again.
   * A lost connection is resumed where it broke off and runs nothing again.
   */
  async *stream(
    conversation: string,
    options: { messageId?: string; signal?: AbortSignal } = {},
  ): AsyncGenerator<CompanionEnvelope> {
    const { messageId, signal } = options;
    let last = '';
    let pause = RETRY_FIRST_MS;
    for (;;) {
      try {
        const headers: Record<string, string> = last === '' ? {} : { 'last-event-id': last };
        const response = await this.http.response(route`/api/conversations/${{ conversation }}/stream`, {
          query: { messageId },
          headers,
          signal,
        });
        if (response.body) {
          for await (const { id = '', event, data } of serverSentEvents(response.body)) {
            last = id || last;
            pause = RETRY_FIRST_MS;
            const received = { ...(JSON.parse(data) as object), type: event } as CompanionEvent;
            yield { runId: id.split(':')[0] || undefined, event: received };
            if (received.type === 'done') return;
          }
        }
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof OnyxError && !error.isOffline) throw error;
      }
      await sleep(pause, signal);
      pause = Math.min(pause * 2, RETRY_LONGEST_MS);
    }
  }
}

function at(space: string, place?: EntityPlace, id?: string): string {
  checkOneOf('place', place, ['pages', 'tasks', 'refs', 'projects']);
  const inside = place === undefined ? '' : route`/${{ place }}`;
  return route`/api/spaces/${{ space }}${inside}${id === undefined ? '' : route`/${{ id }}`}`;
}

const ifMatch = (version?: string): Record<string, string> =>
  version === undefined ? {} : { 'if-match': `"${version}"` };
