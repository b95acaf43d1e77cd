import AxeBuilder from '@axe-core/playwright';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closeBrowser, PHONE, stage, visit, WIDE, type Stage } from './stage';

let at: Stage;
let chat = '';

beforeAll(async () => {
  const rich = '## Plan\n\nSee [the report](https://a.example/x).\n\n- [x] one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn main() {} // text\n```\n\n$$x^2$$\n\n> said';
  at = await stage([{ calls: [{ id: 'a', name: 'list_files', input: {} }] }, { text: rich }]);
  const answer = await at.api('/api/agent/chat', { method: 'POST', body: JSON.stringify({ message: 'Plan the weekend' }) });
  chat = `/chat/${((await answer.json()) as { session_id: string }).session_id}`;
});
afterAll(async () => {
  await closeBrowser();
  await at.end();
});

const cases = ['light', 'dark'].flatMap((scheme) => [WIDE, PHONE].map((viewport) => [scheme, viewport.width, viewport] as const));

test.each(cases)('no page breaks a rule of accessibility: %s at %i px', async (scheme, _, viewport) => {
  const page = await visit(at, '/chat', { viewport, colorScheme: scheme as 'light' | 'dark', reducedMotion: 'reduce' });
  for (const path of ['/chat', chat, '/sessions', '/inbox', '/settings', '/system', '/nowhere']) {
    await page.goto(at.url + path);
    await page.locator('h1').waitFor();
    await page.waitForTimeout(path === chat ? 900 : 300);
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => `${path} ${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(' | ')}`)).toEqual([]);
  }
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Search chats or type a command').waitFor();
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => `palette ${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(' | ')}`)).toEqual([]);
  expect(page.wrongs).toEqual([]);
  await page.context().close();
});
