// The usual beginnings of tests: a server, a browser, a message. Pages are closed after the test, and so are servers
// that are not shared.

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

/** Two agents, for tests in which one is chosen. */
export const TWO_AGENTS = [
  { id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'act' },
  { id: 'optimist', name: 'Optimist', model: 'mine/other-model', tier: 'act' },
];

let ends: (() => Promise<unknown>)[] = [];

/** Cleans up after each test. It must be called once in a file. */
export function clearsAfterEach(): void {
  afterEach(async () => {
    const these = ends;
    // The list is cleared first, so that a failure here does not affect the next test.
    ends = [];
    for (const end of these) await end();
  });
}

/** Starts a server for this test only. */
export async function play(answers: Answer[], options: Setting = {}): Promise<Stage> {
  const at = await stage(answers, options);
  ends.push(at.end);
  return at;
}

const kept = new Map<string, Promise<Stage>>();

/**
 * The server that all tests with this setting share. A test may look only at what it made itself; the script is
 * replaced.
 */
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

/** A second window of the same person. A tab in the background would be drawn once a second, which delays clicks. */
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

/** Waits until an answer is complete and read from the log. Until then its buttons are disabled. */
export const finished = (page: Page) =>
  page.getByRole('button', { name: 'Regenerate', disabled: false }).last().waitFor();

export const toast = (page: Page, words: string | RegExp) =>
  page.getByRole('region', { name: 'Notices' }).getByText(words).last().waitFor();

/** Sends a message through the API; returns its session. */
export async function told(at: Stage, message: string, agent?: string): Promise<string> {
  const answer = await at.api('/api/agent/chat', { method: 'POST', body: JSON.stringify({ message, agent }) });
  return ((await answer.json()) as { session_id: string }).session_id;
}

/** The messages of the person in a session's log. */
export async function words(at: Stage, session: string): Promise<unknown[]> {
  const { turns } = (await (await at.api(`/v1/sessions/${session}/turns`)).json()) as {
    turns: { type: string; content: unknown }[];
  };
  return turns.filter((turn) => turn.type === 'user').map((turn) => turn.content);
}

export const sessionOf = (page: Page) => new URL(page.url()).pathname.split('/').pop() ?? '';
