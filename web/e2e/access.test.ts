import { afterAll, beforeAll, expect, test } from 'vitest';
import { brokenAnywhere } from './axe';
import { go } from './going';
import { HOUSE } from './house';
import { stage, visit, type Stage, type Visit } from './stage';

// The pages of places.ts are tested in states.test.ts; these tests are about the rest.

let at: Stage;
let page: Visit;
let chat = '';

beforeAll(async () => {
  const rich =
    '## Plan\n\nSee [the report](https://a.example/x) and notes/a.md:3.\n\n- [x] one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn main() {} // text\n```\n\n$$x^2$$\n\n> said';
  at = await stage([{ calls: [{ id: 'a', name: 'list_files', input: {} }] }, { text: rich }], {
    files: { ...HOUSE, 'people/owner/vault/agents.md': '# Rules\n\nBe brief.\n' },
  });
  const answer = await at.api('/api/agent/chat', {
    method: 'POST',
    body: JSON.stringify({ message: 'Plan the weekend' }),
  });
  chat = `/chat/${((await answer.json()) as { session_id: string }).session_id}`;
  page = await visit(at, '/nowhere', { reducedMotion: 'reduce' });
});
afterAll(async () => {
  await page.context().close();
  await at.end();
});

const SETTINGS = ['general', 'people', 'tokens', 'devices', 'budgets', 'import', 'config'].map(
  (section) => `/settings/${section}`,
);
const AGENT = ['overview', 'tools', 'memory', 'runs'].map((tab) => `/agents/main/${tab}`);

test.each([
  '/chat',
  '/spaces/home-renovation/tasks/samples',
  '/memory',
  '/memory?path=vault%2Fagents.md',
  ...AGENT,
  ...SETTINGS,
  '/nowhere',
])('%s breaks no rule of accessibility, light and dark, wide and narrow', async (path) => {
  await go(page, path);
  expect(await brokenAnywhere(page, path)).toEqual([]);
});

test('a chat with all that may stand in it breaks none either, nor does the palette over it', async () => {
  await go(page, chat);
  await page.locator('.code code span').first().waitFor();
  await page.locator('math').first().waitFor();
  const found = await brokenAnywhere(page, 'a chat');
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Search chats or type a command').waitFor();
  expect([...found, ...(await brokenAnywhere(page, 'palette'))]).toEqual([]);
  expect(page.wrongs).toEqual([]);
});
