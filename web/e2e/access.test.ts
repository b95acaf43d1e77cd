import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closeBrowser, PHONE, stage, visit, WIDE, type Stage } from './stage';

let at: Stage;
let chat = '';

beforeAll(async () => {
  const rich = '## Plan\n\nSee [the report](https://a.example/x) and notes/a.md:3.\n\n- [x] one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn main() {} // text\n```\n\n$$x^2$$\n\n> said';
  at = await stage([{ calls: [{ id: 'a', name: 'list_files', input: {} }] }, { text: rich }], { files: { 'people/owner/vault/agents.md': '# Rules\n\nBe brief.\n' } });
  const answer = await at.api('/api/agent/chat', { method: 'POST', body: JSON.stringify({ message: 'Plan the weekend' }) });
  chat = `/chat/${((await answer.json()) as { session_id: string }).session_id}`;
});
afterAll(async () => {
  await closeBrowser();
  await at.end();
});

/** Between the themes only colours differ, so that the dark one needs no second look at the rest. */
async function broken(page: Page, where: string, scheme: string): Promise<string[]> {
  const { violations } = await page.evaluate((rules) => {
    const run = (window as unknown as { axe: { run: (context: Document, options: object) => Promise<AxeResults> } }).axe.run;
    return run(document, { resultTypes: ['violations'], ...(rules && { runOnly: rules }) });
  }, scheme === 'dark' ? ['color-contrast'] : undefined);
  return violations.map(({ id, nodes }) => `${where} ${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(' | ')}`);
}

/** Within the app, as a person goes; what is being fetched is waited for. */
async function go(page: Page, path: string): Promise<void> {
  await page.evaluate((to) => {
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, path);
  await page.waitForTimeout(150);
  await page.locator('main h1').waitFor();
  await page.locator('main [aria-busy=true]').waitFor({ state: 'detached' });
  await page.waitForTimeout(150);
}

const SETTINGS = ['general', 'you', 'providers', 'people', 'tokens', 'devices', 'budgets', 'config'].map((section) => `/settings/${section}`);
const AGENT = ['overview', 'persona', 'tools', 'memory', 'runs'].map((tab) => `/agents/main/${tab}`);
const SYSTEM = ['', '/logs', '/usage', '/audit'].map((tab) => `/system${tab}`);
const ROUTES = ['/chat', '/sessions', '/inbox', '/memory', '/memory?path=vault%2Fagents.md', '/agents', ...AGENT, ...SETTINGS, ...SYSTEM, '/nowhere'];

const cases = ['light', 'dark'].flatMap((scheme) => [WIDE, PHONE].map((viewport) => [scheme, viewport.width, viewport] as const));

test.each(cases)(
  'no page breaks a rule of accessibility: %s at %i px',
  async (scheme, _, viewport) => {
    const page = await visit(at, chat, { viewport, colorScheme: scheme as 'light' | 'dark', reducedMotion: 'reduce' });
    await page.evaluate(axe.source);
    await page.locator('.code code span').first().waitFor();
    await page.locator('math').first().waitFor();
    const found = await broken(page, 'a chat', scheme);
    for (const path of ROUTES) {
      await go(page, path);
      found.push(...(await broken(page, path, scheme)));
    }
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Search chats or type a command').waitFor();
    found.push(...(await broken(page, 'palette', scheme)));
    expect(found).toEqual([]);
    await page.context().close();
  },
  240_000,
);
