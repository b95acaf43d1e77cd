import AxeBuilder from '@axe-core/playwright';
import type { Page } from 'playwright-core';
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

/** Between the themes only colours differ, so that the dark one needs no second look at the rest. */
const broken = async (page: Page, where: string, scheme: string) => {
  const axe = new AxeBuilder({ page });
  const { violations } = await (scheme === 'dark' ? axe.withRules(['color-contrast']) : axe).analyze();
  return violations.map(({ id, nodes }) => `${where} ${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(' | ')}`);
};

const SETTINGS = ['general', 'you', 'providers', 'people', 'tokens', 'devices', 'budgets', 'config'].map((section) => `/settings/${section}`);
const AGENT = ['overview', 'persona', 'tools', 'memory', 'runs'].map((tab) => `/agents/main/${tab}`);
const SYSTEM = ['', '/logs', '/usage', '/audit'].map((tab) => `/system${tab}`);
const ROUTES = ['/sessions', '/inbox', '/memory', '/memory?path=USER.md', '/agents', ...AGENT, ...SETTINGS, ...SYSTEM, '/nowhere'];

const cases = ['light', 'dark'].flatMap((scheme) => [WIDE, PHONE].map((viewport) => [scheme, viewport.width, viewport] as const));

test.each(cases)('no page breaks a rule of accessibility: %s at %i px', async (scheme, _, viewport) => {
  const page = await visit(at, '/chat', { viewport, colorScheme: scheme as 'light' | 'dark', reducedMotion: 'reduce' });
  const found: string[] = [];
  for (const path of ['/chat', chat, ...ROUTES]) {
    await page.goto(at.url + path);
    await page.locator('h1').waitFor();
    await page.waitForTimeout(path === chat ? 900 : 300);
    found.push(...(await broken(page, path, scheme)));
  }
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Search chats or type a command').waitFor();
  found.push(...(await broken(page, 'palette', scheme)));
  expect(found).toEqual([]);
  await page.context().close();
}, 240_000);
