import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HOSTILE } from '../test/hostile';
import { composer, say, toast } from './play';
import { PHONE, stage, visit, WIDE, type Answer, type Stage, type Visit } from './stage';

const SOUL = 'You look for what could go right.\n';
const EVIL = '<img src=x onerror=window.pwned=1>';
const AGENTS = [
  { id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'act' },
  { id: 'optimist', name: 'Optimist', model: 'mine/some-model', tier: 'act' },
  { id: 'evil', name: EVIL, model: 'mine/some-model', tier: 'act' },
];
const FILES = {
  'agents/optimist/SOUL.md': SOUL,
  'agents/optimist/tests/math.md': 'What is 2+2?\n',
  'agents/evil/SOUL.md': HOSTILE.join('\n\n'),
  'agents/evil/tests/evil.md': HOSTILE.join('\n\n'),
};
const prompt = (text: string): Answer => ({
  calls: [{ id: 'p', name: 'update_system_prompt', input: { systemPrompt: text } }],
});
// The answers, in the order of the tests.
const ANSWERS: Answer[] = [
  { calls: [{ id: 'n', name: 'update_persona_name', input: { name: 'Sunny' } }] },
  prompt(`${SOUL}Say it plainly.\n`),
  { text: 'It says it plainly now.' },
  { text: 'The tone stays.' },
  { text: 'Nothing to add.' },
  prompt('The editor’s own.\n'),
  { text: 'Rewrote it.' },
  prompt('Once more.\n'),
  { text: 'Rewrote it again.' },
  { text: 'Hm', hang: true },
  { text: ['Four, ', 'and reliably so.'] },
  { text: 'Words of one.' },
  { text: 'Words of the other.' },
  { text: HOSTILE.map((text) => `${text}\n\n`) },
  { text: HOSTILE.map((text) => `${text}\n\n`) },
];

let at: Stage;
let page: Visit;

beforeAll(async () => {
  at = await stage(ANSWERS, { agents: AGENTS, defaults: { model: 'mine/some-model' }, files: FILES });
  page = await visit(at, '/nowhere');
  // A busy machine may hide a window, so only the test decides whether the tab counts as hidden.
  await page.addInitScript(() => {
    let hidden = false;
    Object.defineProperty(document, 'hidden', { get: () => hidden });
    addEventListener('test:hide', (event) => {
      hidden = (event as CustomEvent<boolean>).detail;
      document.dispatchEvent(new Event('visibilitychange'));
    });
  });
  await page.clock.install();
  await page.goto(`${at.url}/agents/optimist/persona`);
  await page.getByText('What is 2+2?').waitFor();
});
afterAll(async () => {
  await page.context().close();
  await at.end();
});
beforeEach(() => void (page.wrongs.length = 0));

const panel = () => page.getByRole('region', { name: 'The editor’s output' });
const phase = async () => ((await panel().count()) === 0 ? 'hidden' : await panel().getAttribute('data-phase'));
const prompting = () => page.getByLabel('Text of the system prompt');
const soul = () => readFile(join(at.home, 'agents/optimist/SOUL.md'), 'utf8');
const hide = (hidden: boolean) =>
  page.evaluate((detail) => dispatchEvent(new CustomEvent('test:hide', { detail })), hidden);
/** Waits until the answer is complete: the panel is about to close or is closed. */
const over = () =>
  panel()
    .getByText('closes automatically')
    .or(page.getByRole('button', { name: 'Show output' }))
    .first()
    .waitFor();

/** Runs `act` while the page's clock is stopped, so that the machine's speed does not matter. */
async function stopped<T>(act: () => Promise<T>): Promise<T> {
  // Far enough ahead that a slow machine does not pass that time before the clock stops.
  await page.clock.pauseAt(await page.evaluate(() => Date.now() + 10_000));
  try {
    return await act();
  } finally {
    await page.clock.resume();
  }
}

/** Lets a few frames pass at a time until the element is shown. They are so few that the panel does not close. */
async function frames(shown: Locator): Promise<void> {
  await expect
    .poll(async () => (await page.clock.runFor(20), shown.isVisible()), { timeout: 30_000, interval: 30 })
    .toBe(true);
}

async function ask(words: string, answer: string): Promise<void> {
  await say(page, words);
  await frames(panel().getByText(answer));
  await frames(panel().getByText('closes automatically'));
}

describe('the editor', () => {
  test('changes name and prompt before the person’s eyes, and its panel goes five seconds after its last word', async () => {
    await stopped(async () => {
      expect(await phase()).toBe('hidden');
      await ask('Say it plainly', 'It says it plainly now.');
      expect(await phase()).toBe('visible');
      await frames(page.getByRole('heading', { level: 1, name: 'Sunny' }));
      await expect.poll(() => prompting().inputValue()).toBe(`${SOUL}Say it plainly.\n`);
      await page.clock.runFor(3_000);
      expect(await phase()).toBe('visible');
      await page.clock.runFor(2_000);
      expect(await phase()).toBe('hidden');
    });
    expect(page.wrongs).toEqual([]);
  });

  test('stays while somebody is at it or cannot see it, is pinned by P, and goes with a click elsewhere or Esc', async () => {
    await stopped(async () => {
      await ask('And the tone?', 'The tone stays.');
      await hide(true);
      await page.clock.runFor(60_000);
      await hide(false);
      await panel().hover();
      await page.clock.runFor(60_000);
      expect(await phase()).toBe('visible');
      await page.mouse.move(2, 2);
      await composer(page).blur();
      await page.keyboard.press('p');
      await page.clock.runFor(60_000);
      expect(await phase()).toBe('pinned');
      await page.getByRole('heading', { level: 1 }).click();
      expect(await phase()).toBe('hidden');
      await page.getByRole('button', { name: 'Show output' }).click();
      await page.clock.runFor(60_000);
      expect(await phase()).toBe('pinned');
      await page.keyboard.press('Escape');
      expect(await phase()).toBe('hidden');
    });
  });

  test('is a sheet over the page on a phone, within the screen, and is dismissed there', async () => {
    await page.setViewportSize(PHONE);
    await stopped(async () => {
      await ask('Anything else?', 'Nothing to add.');
      const box = await panel().boundingBox();
      const bar = await composer(page).boundingBox();
      expect([
        box && box.x >= 0 && box.x + box.width <= PHONE.width,
        box && bar && box.y + box.height <= bar.y,
      ]).toEqual([true, true]);
      await panel().getByRole('button', { name: 'Dismiss' }).click();
      expect(await phase()).toBe('hidden');
    });
    await page.setViewportSize(WIDE);
  });

  test('never takes words from under a person’s hands: what it wrote is a choice', async () => {
    await prompting().fill('My own words.\n');
    await say(page, 'Rewrite it');
    await page.getByText('The system prompt was changed elsewhere.').waitFor();
    expect(await prompting().inputValue()).toBe('My own words.\n');
    await page.getByRole('button', { name: 'Keep mine' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await toast(page, 'Saved');
    expect(await soul()).toBe('My own words.\n');
    await over();
    await prompting().fill('Mine again.\n');
    await say(page, 'Once more');
    await page.getByRole('button', { name: 'Use the new version' }).click();
    expect(await prompting().inputValue()).toBe('Once more.\n');
    expect(await soul()).toBe('Once more.\n');
    await over();
  });

  test('that cannot take words says why until somebody has seen it, and gives them back; clearing begins anew', async () => {
    // Another client uses the editor, which does one thing at a time.
    const other = new AbortController();
    const held = at.api('/api/persona-agent/chat', {
      method: 'POST',
      body: JSON.stringify({ personaId: 'optimist', message: 'Think' }),
      signal: other.signal,
    });
    await held;
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await stopped(async () => {
      await say(page, 'Shorter');
      await frames(panel().getByRole('alert').getByText('answering another message'));
      await page.clock.runFor(600_000);
      expect(await phase()).toBe('visible');
    });
    expect(await composer(page).inputValue()).toBe('Shorter');
    await composer(page).fill('');
    other.abort();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
    await panel().getByRole('button', { name: 'Clear conversation' }).click();
    await panel().waitFor({ state: 'detached' });
    const history = (await (await at.api('/api/persona-agent/history?personaId=optimist')).json()) as {
      turns: unknown[];
    };
    expect(history.turns).toEqual([]);
    await page.getByRole('button', { name: 'Show output' }).waitFor({ state: 'detached' });
  });
});

test('test inputs are run, added, changed, put to several personas and removed', async () => {
  const inputs = page.getByRole('region', { name: 'Test inputs' });
  const row = (text: string) => inputs.getByRole('listitem').filter({ hasText: text });
  await row('2+2').getByRole('button', { name: 'Run this test input' }).click();
  await row('2+2').getByText('Four, and reliably so.').waitFor();
  await inputs.getByLabel('New test input').fill('Is it late?');
  await page.keyboard.press('Enter');
  await row('Is it late?').getByRole('button', { name: 'Edit this test input' }).click();
  await inputs.getByLabel('Text of the test input').fill('Is it too late?');
  await inputs.getByRole('button', { name: 'Save' }).click();
  await row('Is it too late?').waitFor();
  await inputs.getByRole('button', { name: 'Who answers' }).click();
  await page.getByRole('dialog').getByLabel('Main').check();
  await page.getByRole('dialog').getByRole('button', { name: 'Choose' }).click();
  await row('too late?').getByRole('button', { name: 'Run this test input' }).click();
  await row('too late?').getByText('Words of one.').waitFor();
  await row('too late?').getByText('Words of the other.').waitFor();
  expect(await row('too late?').getByRole('article').count()).toBe(2);
  // A persona's answers belong to the window, so they are still shown after leaving the page and returning.
  await page.getByRole('link', { name: 'Tools', exact: true }).first().click();
  await inputs.waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Persona', exact: true }).first().click();
  await row('2+2').getByText('Four, and reliably so.').waitFor();
  await row('too late?').getByRole('button', { name: 'Remove this test input' }).click();
  await row('too late?').waitFor({ state: 'detached' });
  const { testInputs } = (await (await at.api('/api/storage/personas/optimist/test-inputs')).json()) as {
    testInputs: { content: string }[];
  };
  expect(testInputs.map((input) => input.content.trim())).toEqual(['What is 2+2?']);
  expect(page.wrongs).toEqual([]);
});

test('a hostile name, prompt, test input and answer run nothing and load nothing', async () => {
  await page.goto(`${at.url}/agents/evil/persona`);
  await page.getByRole('heading', { level: 1, name: EVIL }).waitFor();
  await page.getByRole('button', { name: 'Run all' }).click();
  await page.getByRole('article', { name: 'answers' }).locator('[aria-busy=true]').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Run again' }).waitFor();
  await say(page, HOSTILE.join('\n'));
  await over();
  expect(await page.evaluate(() => (window as { pwned?: unknown }).pwned)).toBeUndefined();
  expect(page.wrongs).toEqual([]);
});
