import { afterAll, beforeAll, expect, test } from 'vitest';
import { Onyx } from '@onyx/sdk';
import { stage, TOKEN, type Stage } from '../../../web/e2e/stage';

let at: Stage;
let onyx: Onyx;

beforeAll(async () => {
  at = await stage([], {
    files: {
      'people/owner/vault/notes/cabin.md': '# Cabin\n\nLena keeps the keys of the cabin.\n',
      'people/owner/vault/agent/actions/Brief.md': 'Tell me in one line what is due.\n',
    },
    fallback: { text: 'Nothing is due.' },
  });
  onyx = new Onyx({ baseUrl: at.url, token: TOKEN });
});
afterAll(() => at.end());

test('memory is written with care, searched and brought back', async () => {
  const first = await onyx.memory.write('vault/wood.md', 'Oak.\n');
  await expect(onyx.memory.write('vault/wood.md', 'Pine.\n')).rejects.toMatchObject({ code: 'version_conflict' });
  await onyx.memory.write('vault/wood.md', 'Larch.\n', first);
  const [newest] = await onyx.memory.history('vault/wood.md');
  await onyx.memory.restore('vault/wood.md', newest?.version ?? 0);
  expect((await onyx.memory.read('vault/wood.md')).text).toBe('Oak.\n');
  const search = async () => (await onyx.memory.search({ q: 'keys cabin' })).results.map(({ path }) => path);
  await expect.poll(search).toContain('vault/notes/cabin.md');
  expect(await onyx.memory.remember({ text: 'Lena called.', target: 'daily' })).toContain('daily');
  expect(await onyx.memory.known()).toBeInstanceOf(Array);
});

test('a job is made with all of its fields, run, and its outcome told', async () => {
  const job = await onyx.jobs.create('morning', { cron: '0 8 * * MON-FRI', prompt: 'What is due?', maxCost: 0.5 });
  expect(job.id).toBe('morning');
  expect((await onyx.memory.read('vault/agent/jobs/morning.md')).text).toContain('max_cost: 0.5');
  await onyx.jobs.run('morning');
  await expect.poll(async () => (await onyx.jobs.runs('morning')).runs[0]?.outcome).toBeTruthy();
  await onyx.jobs.remove('morning');
  expect(await onyx.jobs.list()).toEqual([]);
});

test('agents, spaces, sources, skills and actions', async () => {
  await onyx.agents.create({ id: 'scout', name: 'Scout', model: 'mine/some-model', tier: 'read' });
  await onyx.agents.writeFile('scout', 'SOUL.md', 'Be brief.\n', '');
  expect((await onyx.agents.readFile('scout', 'SOUL.md')).text).toBe('Be brief.\n');
  const space = await onyx.spaces.create({ name: 'Home' });
  const page = await onyx.spaces.add(space.id, 'pages', { title: 'Floor', body: 'Oak?\n' });
  await onyx.spaces.change(space.id, 'pages', page.id, { body: 'Larch.\n' }, page.version);
  await expect(onyx.spaces.change(space.id, 'pages', page.id, { body: 'Pine.\n' }, page.version)).rejects.toMatchObject(
    { code: 'version_conflict' },
  );
  const source = await onyx.sources.add({ scope: { type: 'space', id: space.id }, kind: 'text', text: 'Joists.' });
  for await (const _ of onyx.sources.events(source.id));
  expect((await onyx.sources.list({ scope: space.id })).map(({ id }) => id)).toEqual([source.id]);
  const text = '---\nname: tidy\ndescription: How to tidy.\n---\nPut things away.\n';
  expect(await onyx.skills.write('tidy', text)).toMatchObject({ state: 'ready' });
  expect((await onyx.skills.get('tidy')).text).toBe(text);
  const [action] = await onyx.actions.list();
  const types: string[] = [];
  for await (const line of onyx.actions.run(action?.id ?? '')) types.push(line.type);
  expect([types[0], types.at(-1)]).toEqual(['start', 'done']);
});

test('what the owner does', async () => {
  await onyx.admin.setSecret('weather', 's3cret');
  expect((await onyx.admin.secrets()).map(({ name }) => name)).toContain('weather');
  expect((await onyx.connectors.list()).accounts).toEqual([]);
  expect((await onyx.health()).length).toBeGreaterThan(0);
  expect((await onyx.models()).map(({ id }) => id)).toContain('onyx:main');
  expect((await onyx.admin.verifyAudit()).every(({ whole }) => whole)).toBe(true);
  for (const message of ['one', 'two', 'three']) await onyx.chat.send({ message });
  const all: string[] = [];
  for await (const session of onyx.sessions.each({ limit: 1 })) all.push(session.id);
  expect(all.length).toBeGreaterThan(2);
  expect(new Set(all).size).toBe(all.length);
});

test('a draft is heard of where it is looked out for', async () => {
  await at.script([{ calls: [{ id: 'a', name: 'ask_person', input: { question: 'Oak?' } }] }, { text: 'Fine.' }]);
  const enough = new AbortController();
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const listening: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    open();
    return response;
  };
  const listener = new Onyx({ baseUrl: at.url, token: TOKEN, fetch: listening });
  const heard = (async () => {
    for await (const draft of listener.drafts.events({ signal: enough.signal }))
      if (draft.state === 'pending') return draft;
    return undefined;
  })();
  // What happened before the stream was open is not told.
  await opened;
  for await (const chunk of onyx.chat.stream({ message: 'order' }))
    if (chunk.type === 'confirm') await onyx.drafts.approve(chunk.draftId, { reason: 'yes' });
  expect(await heard).toMatchObject({ tool: 'ask_person' });
  enough.abort();
});
