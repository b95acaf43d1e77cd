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
/** What a space holds, as its addresses name it. */
export type EntityPlace = 'pages' | 'tasks' | 'refs' | 'projects';
export type EntityKind = Schema<'EntityKind'>;
/** A page, task, ref or project. Lists leave out the `body`. */
export interface Entity extends Omit<Schema<'EntityView'>, 'fields'> {
  /** Other keys of its front matter, as they are written there. */
  fields: Record<string, string>;
}

/** What is left out stays as it is; an empty status or field goes. */
export interface EntityChange {
  title?: string;
  status?: string;
  tags?: string[];
  fields?: Record<string, string | null>;
  body?: string;
}

/** Something from outside that becomes a ref: an address, words, or a file as base64. */
export type Capture = { title?: string; tags?: string[] } & (
  | { url: string }
  | { text: string }
  | { data: string; name: string; mediaType?: string }
);

export type Companion = Schema<'CompanionView'>;
export type CompanionMessage = Schema<'ConversationMessage'>;

/** What the person looks at while they write. */
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

/** An event, and the run that told it; none where the message could not be run at all. */
export interface CompanionTold {
  runId?: string;
  event: CompanionEvent;
}

/** Spaces with what is in them, and the companion of each. */
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

  /** Changed last first; `before` of an answer gives the rest. */
  async entities(
    space: string,
    place: EntityPlace,
    query: { status?: string; before?: string; limit?: number } = {},
  ): Promise<{ entities: Entity[]; before?: string }> {
    return this.http.json(at(space, place), { query });
  }

  /** Those of a place that link to this one. */
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

  /** With the `version` that was read, nothing else is replaced: `version_conflict` says that it was changed since. */
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

  /** In one space or in all, `types` by commas. */
  async search(
    query: { q: string; space?: string; types?: string; limit?: number },
    signal?: AbortSignal,
  ): Promise<MemoryAnswer> {
    checkText('q', query.q);
    return this.http.json('/api/search', { query, signal });
  }

  /** The one conversation of a space, made when there is none. */
  async companion(space: string): Promise<Companion> {
    return this.http.json(`${at(space)}/companion`);
  }

  async messages(
    conversation: string,
    page: { before?: string; limit?: number } = {},
  ): Promise<{ messages: CompanionMessage[]; before?: string }> {
    return this.http.json(route`/api/conversations/${{ conversation }}/messages`, { query: page });
  }

  /** Keeps the words; `stream` has them answered. */
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
   * Has a message answered, or joins the answer, or tells one that was given; the latest message
   * unless one is named. A message whose last run failed, was stopped or broke off is run again.
   * A lost connection is taken up where it broke off and runs nothing.
   */
  async *stream(
    conversation: string,
    options: { messageId?: string; signal?: AbortSignal } = {},
  ): AsyncGenerator<CompanionTold> {
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
            const told = { ...(JSON.parse(data) as object), type: event } as CompanionEvent;
            yield { runId: id.split(':')[0] || undefined, event: told };
            if (told.type === 'done') return;
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
