// What most tests begin with: a server, a browser, something said. Pages are gone after the test; a server too, unless it is
// one that tests share.

import type { Page } from 'playwright-core';
import { afterEach } from 'vitest';
import {
  borrow,
  giveBack,
  PHONE,
  stage,
  visit,
  WIDE,
  type Answer,
  type Setting,
  type Stage,
  type Visit,
} from './stage';

export const WIDTHS = [
  ['1280', WIDE],
  ['390', PHONE],
] as const;

/** Two that may answer, where one has to be chosen. */
export const TWO_AGENTS = [
  { id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'act' },
  { id: 'optimist', name: 'Optimist', model: 'mine/other-model', tier: 'act' },
];

let ends: (() => Promise<unknown>)[] = [];

/** To be called once in a file. */
export function clearsAfterEach(): void {
  afterEach(async () => {
    const these = ends;
    // Also where one of them fails: it is no matter of the next test.
    ends = [];
    for (const end of these) await end();
  });
}

/** A server of this test's own. */
export async function play(answers: Answer[], options: Setting = {}): Promise<Stage> {
  const at = await stage(answers, options);
  ends.push(at.end);
  return at;
}

const kept = new Map<string, Promise<Stage>>();

/** The server that tests of this setting share, for those that look only at what they made themselves. The script is the test's own. */
export async function share(answers: Answer[], { files, fallback, ...setting }: Setting = {}): Promise<Stage> {
  const kind = JSON.stringify(setting);
  const known = kept.get(kind) ?? stage([], setting);
  kept.set(kind, known);
  const at = await known;
  await at.write(files ?? {});
  await at.script(answers, fallback);
  return at;
}

export async function open(
  at: Stage,
  path?: string,
  options: Parameters<typeof visit>[2] & { viewport?: typeof WIDE } = {},
): Promise<Visit> {
  const { viewport, ...special } = options;
  if (Object.keys(special).length === 0) {
    const page = await borrow(at, path, viewport);
    ends.unshift(() => giveBack(page));
    return page;
  }
  const page = await visit(at, path, options);
  ends.unshift(() => page.context().close());
  return page;
}

/** A second window of the same person: a tab in the back would be drawn once a second, and every click on it waits. */
export async function beside(page: Visit, at: Stage, path: string): Promise<Visit> {
  const other = await borrow(at, path, page.viewportSize() ?? WIDE);
  ends.unshift(() => giveBack(other));
  return other;
}

export const composer = (page: Page) => page.locator('#composer');
export const log = (page: Page) => page.locator('[role=log]');

export async function say(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press('Enter');
}

export const finished = (page: Page) => page.getByRole('button', { name: 'Regenerate' }).last().waitFor();

export const toast = (page: Page, words: string | RegExp) =>
  page.getByRole('region', { name: 'Notices' }).getByText(words).last().waitFor();

/** A message through the API; its session. */
export async function told(at: Stage, message: string, agent?: string): Promise<string> {
  const answer = await at.api('/api/agent/chat', { method: 'POST', body: JSON.stringify({ message, agent }) });
  return ((await answer.json()) as { session_id: string }).session_id;
}

/** What a session's log holds of a person's words. */
export async function words(at: Stage, session: string): Promise<unknown[]> {
  const { turns } = (await (await at.api(`/v1/sessions/${session}/turns`)).json()) as {
    turns: { type: string; content: unknown }[];
  };
  return turns.filter((turn) => turn.type === 'user').map((turn) => turn.content);
}

export const sessionOf = (page: Page) => new URL(page.url()).pathname.split('/').pop() ?? '';
