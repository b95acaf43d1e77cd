// What most tests begin with: a server, a browser, something said; all of it is gone after the test.

import type { Page } from 'playwright-core';
import { afterAll, afterEach } from 'vitest';
import { closeBrowser, PHONE, stage, visit, watch, WIDE, type Answer, type Stage, type Visit } from './stage';

export const WIDTHS = [
  ['1280', WIDE],
  ['390', PHONE],
] as const;

let ends: (() => Promise<unknown>)[] = [];

/** To be called once in a file. */
export function clearsAfterEach(): void {
  afterEach(async () => {
    for (const end of ends) await end();
    ends = [];
  });
  afterAll(closeBrowser);
}

export async function play(answers: Answer[], options: Parameters<typeof stage>[1] = {}): Promise<Stage> {
  const at = await stage(answers, options);
  ends.push(at.end);
  return at;
}

export async function open(at: Stage, path?: string, options?: Parameters<typeof visit>[2]): Promise<Visit> {
  const page = await visit(at, path, options);
  ends.unshift(() => page.context().close());
  return page;
}

/** Another tab of the same browser. */
export async function beside(page: Visit, at: Stage, path: string): Promise<Visit> {
  const other = (await page.context().newPage()) as Visit;
  other.wrongs = [];
  watch(other, at.url);
  await other.goto(at.url + path);
  return other;
}

export const composer = (page: Page) => page.locator('#composer');
export const log = (page: Page) => page.locator('[role=log]');

export async function say(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press('Enter');
}

export const finished = (page: Page) => page.getByRole('button', { name: 'Answer again' }).last().waitFor();

export const toast = (page: Page, words: string | RegExp) => page.getByRole('region', { name: 'Notices' }).getByText(words).last().waitFor();

/** A message through the API; its session. */
export async function told(at: Stage, message: string, agent?: string): Promise<string> {
  const answer = await at.api('/api/agent/chat', { method: 'POST', body: JSON.stringify({ message, agent }) });
  return ((await answer.json()) as { session_id: string }).session_id;
}

/** What a session's log holds of a person's words. */
export async function words(at: Stage, session: string): Promise<unknown[]> {
  const { turns } = (await (await at.api(`/v1/sessions/${session}/turns`)).json()) as { turns: { type: string; content: unknown }[] };
  return turns.filter((turn) => turn.type === 'user').map((turn) => turn.content);
}

export const sessionOf = (page: Page) => new URL(page.url()).pathname.split('/').pop() ?? '';
