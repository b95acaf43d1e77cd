// A channel for tests: two coworkers, a thread, and a source in each of its four scopes.

import type { Answer, Stage } from './stage';

export interface Furniture {
  space: string;
  name: string;
  purpose?: string;
  coworkers: string[];
}

const post = async <T>(at: Stage, path: string, body: object): Promise<T> => {
  const answer = await at.api(path, { method: 'POST', body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
  return (await answer.json()) as T;
};

/** Creates a channel with its coworkers, of which the first is the primary; returns its id. */
export async function channel(at: Stage, { space, name, purpose, coworkers }: Furniture): Promise<string> {
  const { id } = await post<{ id: string }>(at, '/api/channels', { space, name, purpose });
  for (const agent of coworkers)
    await post(at, `/api/channels/${id}/coworkers`, { agent, primary: agent === coworkers[0] });
  return id;
}

export const space = async (at: Stage, name: string) => (await post<{ id: string }>(at, '/api/spaces', { name })).id;
export const thread = async (at: Stage, channelId: string, title: string) =>
  (await post<{ id: string }>(at, '/api/threads', { channel: channelId, title })).id;

/** Adds a source with this text and waits until it can be found. */
export async function known(
  at: Stage,
  scope: { type: string; id: string },
  title: string,
  text: string,
): Promise<void> {
  const { id } = await post<{ id: string }>(at, '/api/sources', { scope, title, kind: 'text', text });
  await (await at.api(`/api/sources/${id}/events`)).text();
}

/** Sends a message in a thread and waits until all answers are complete. */
export async function tell(at: Stage, threadId: string, content: string): Promise<void> {
  const sent = await post<{ assistant_messages: { id: string }[] }>(at, `/api/threads/${threadId}/messages`, {
    content,
  });
  const wanted = new Set(sent.assistant_messages.map(({ id }) => id));
  for (;;) {
    const { messages } = (await (await at.api(`/api/threads/${threadId}/messages`)).json()) as {
      messages: { id: string; status: string }[];
    };
    if (messages.filter(({ id, status }) => wanted.has(id) && status !== 'streaming').length === wanted.size) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export const THREAD_ANSWERS: Answer[] = [
  {
    text: 'Oak in the hall, larch upstairs. The mill’s price list gives oak at 96 and larch at 64 a square metre [1], which fits the budget only if the stairs stay as they are.',
  },
  { text: 'I would wait for the samples: nothing in what I was given says how either of them takes the oil.' },
];

/** Creates the channel of the furnished home in this space; returns its thread. */
export async function furnishedChannel(at: Stage, spaceId: string): Promise<string> {
  const id = await channel(at, {
    space: spaceId,
    name: 'floors',
    purpose:
      'Decide on the floors before the end of the month. Prices with tax, sources named, no advice on heating: that is settled.',
    coworkers: ['main', 'careful'],
  });
  const long = await channel(at, {
    space: spaceId,
    name: 'a-channel-with-a-name-that-is-much-longer-than-any-list-is-wide-on-a-phone',
    coworkers: ['the-agent-with-a-very-long-name-that-nobody-would-choose'],
  });
  await thread(at, long, 'A thread with a title that goes on for so long that it has to be cut, wherever it is shown');
  const about = await thread(at, id, 'Oak or larch, and where');
  await known(
    at,
    { type: 'channel', id },
    'Price list of the mill',
    '# Prices\n\nOak 96, larch 64 a square metre, delivered. Oak and larch both in 140 mm.',
  );
  await known(
    at,
    { type: 'thread', id: about },
    'Notes of the visit',
    'We saw oak and larch at the mill; the larch was still wet.',
  );
  await tell(at, about, '@Main @Careful Oak or larch for the hall?');
  return about;
}
