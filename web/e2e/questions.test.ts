// An agent asks and waits: the typed message becomes the answer, and the question is shown once.

import { describe, expect, test } from 'vitest';
import { clearsAfterEach, finished, log, open, play, say, words, sessionOf, WIDTHS } from './play';
import { PHONE, type Answer } from './stage';

clearsAfterEach();

const ASKING: Answer[] = [
  { calls: [{ id: 'q', name: 'ask_person', input: { question: 'Oak or larch?' } }] },
  { text: 'Larch it is.' },
];

describe.each(WIDTHS)('at %s px', (_, viewport) => {
  test('what is typed while a question waits answers it', async () => {
    const at = await play(ASKING);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'order the floor');
    await page.locator('[data-draft][data-open]').waitFor();
    expect(await log(page).getByText('Oak or larch?').count()).toBe(1);
    expect(await page.locator('#composer').getAttribute('placeholder')).toBe('Answer Main');
    await page.locator('#composer').focus();
    await page.keyboard.type('Larch');
    await page.keyboard.press('Enter');
    await log(page).getByText('Larch it is.').waitFor();
    await finished(page);
    await log(page).getByText('You answered: Larch').waitFor();
    // The text was an answer and not a message of its own.
    expect(await words(at, sessionOf(page))).toEqual(['order the floor']);
    expect(page.wrongs).toEqual([]);
  });

  test('offered answers are buttons, with a number for the keyboard, and other words still answer', async () => {
    const asks = (id: string): Answer => ({
      calls: [{ id, name: 'ask_person', input: { question: 'Oak or larch?', options: ['Oak', 'Larch'] } }],
    });
    const at = await play([asks('a'), { text: 'Oak.' }, asks('b'), { text: 'Larch.' }, asks('c'), { text: 'Stone.' }]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'order the floor');
    await page.getByRole('group', { name: 'Answers' }).getByRole('button', { name: 'Oak' }).click();
    await log(page).getByText('You answered: Oak').waitFor();
    await finished(page);

    await say(page, 'and the stairs');
    await page.locator('[data-draft][data-open]').focus();
    await page.keyboard.press('2');
    await log(page).getByText('You answered: Larch').waitFor();
    await finished(page);

    await say(page, 'and the bath');
    await page.locator('[data-draft][data-open]').waitFor();
    await page.locator('#composer').focus();
    await page.keyboard.type('Stone, please');
    await page.keyboard.press('Enter');
    await log(page).getByText('You answered: Stone, please').waitFor();
    expect(page.wrongs).toEqual([]);
  });

  test('a chat is called by its first words from the moment they are said', async () => {
    const at = await play([{ text: 'Well,', hang: true }]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'What speaks for larch?');
    await log(page).getByText('Well,').waitFor();
    await expect.poll(() => page.title()).toBe('What speaks for larch? · Onyx');
    expect(await page.getByText('0 turns').count()).toBe(0);
    if (viewport.width > 1000) await page.getByRole('link', { name: 'What speaks for larch?, working' }).waitFor();
  });

  test('an error of a provider leads to where providers are set up', async () => {
    const at = await play([], { fallback: { refused: 401 } });
    const page = await open(at, '/chat', { viewport });
    await say(page, 'hello');
    await page.getByRole('alert').getByRole('link', { name: 'Provider settings' }).click();
    await page.waitForURL(/\/settings\/providers$/);
  });

  test('a chat that is not there says so', async () => {
    const at = await play([]);
    for (const id of ['nope', '01890000-0000-7000-8000-000000000000']) {
      const page = await open(at, `/chat/${id}`, { viewport });
      await page.getByText('There is no such chat.').waitFor();
      await page.getByRole('link', { name: 'Start a new one' }).click();
      await page.locator('#composer').waitFor();
    }
  });
});

test('on a touch screen Enter begins a new line and the button sends', async () => {
  const at = await play([{ text: 'Both.' }]);
  const page = await open(at, '/chat', { viewport: PHONE, hasTouch: true, isMobile: true });
  await page.locator('#composer').tap();
  await page.keyboard.type('one');
  await page.keyboard.press('Enter');
  await page.keyboard.type('two');
  expect(await page.locator('#composer').inputValue()).toBe('one\ntwo');
  await page.getByRole('button', { name: 'Send' }).tap();
  await log(page).getByText('Both.').waitFor();
  expect(await words(at, sessionOf(page))).toEqual(['one\ntwo']);
});
