import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { HOSTILE } from '../test/hostile';
import { drawn } from './going';
import {
  beside,
  clearsAfterEach,
  composer,
  finished,
  log,
  open,
  play,
  say,
  sessionOf,
  share,
  WIDTHS,
  words as wordsOf,
} from './play';

clearsAfterEach();

const words = Array.from({ length: 60 }, (_, index) => `word${index} `);

describe.each(WIDTHS)('at %s px', (_, viewport) => {
  test('a message is sent, its answer streams, and both are there after a reload', async () => {
    const at = await share([{ text: ['Hello **you**', ', and welcome.\n\n```js\nlet a = 1;\n```\n'], delayMs: 50 }]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'hi there');
    await page.waitForURL(/\/chat\/[0-9a-f-]{36}/);
    await finished(page);
    const shown = async () => (await log(page).innerText()).replace(/\s+/g, ' ');
    expect(await shown()).toMatch(/YOU hi there .*MAIN some-model Hello you, and welcome\..*let a = 1;/);
    expect(await page.locator('strong').innerText()).toBe('you');
    await page.reload();
    await finished(page);
    expect(await shown()).toMatch(/YOU hi there .*Hello you, and welcome\./);
    expect(page.wrongs).toEqual([]);
  });

  test('an answer under way is stopped, and what it said stays', async () => {
    const at = await share([{ text: 'This goes on', hang: true }]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'go');
    await log(page).getByText('This goes on').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await log(page).getByText('Stopped').waitFor();
    expect(await log(page).innerText()).toContain('This goes on');
    expect(page.wrongs).toEqual([]);
  });

  test('a reload in the middle of an answer loses and doubles nothing', async () => {
    const at = await share([{ text: words, delayMs: 60 }]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'count');
    await log(page).getByText('word5').waitFor();
    await page.reload();
    await log(page).getByText('word12').waitFor();
    await page.reload();
    await finished(page);
    const text = (await page.locator('.prose').innerText()).replace(/\s+/g, ' ').trim();
    expect(text).toBe(words.join('').trim());
    expect(page.wrongs).toEqual([]);
  });
});

describe.each(WIDTHS)('many places at %s px', (width, viewport) => {
  test('two tabs show the same answer as it grows, and the other is marked unread', async () => {
    const at = await share([{ text: words, delayMs: 40 }, { text: 'second' }]);
    const one = await open(at, '/chat', { viewport });
    const said = `count at ${width}`;
    await say(one, said);
    await one.waitForURL(/\/chat\/.+/);
    const chat = one.url();
    const two = await beside(one, at, new URL(chat).pathname);
    await log(two).getByText('word9').waitFor();
    await finished(one);
    await finished(two);
    expect(await two.locator('.prose').innerText()).toBe(await one.locator('.prose').innerText());
    await two.goto(`${at.url}/sessions`);
    await two.locator('main').getByRole('link', { name: said }).waitFor();
    // An answer on a visible page counts as read at once, on every device.
    await one.goto(`${at.url}/inbox`);
    const session_id = new URL(chat).pathname.split('/').pop();
    await at.api('/api/agent/chat', { method: 'POST', body: JSON.stringify({ message: 'again', session_id }) });
    await two
      .locator('main')
      .getByRole('link', { name: new RegExp(`${said}.*unread`) })
      .waitFor();
    expect([...one.wrongs, ...two.wrongs]).toEqual([]);
  });

  test('words said while the server is gone wait, are kept over a reload, are sent once, and a new chat opens with them', async () => {
    const at = await play([{ text: 'first' }], { fallback: { text: 'late' } });
    const page = await open(at, '/chat', { viewport });
    await say(page, 'one');
    await finished(page);
    const chat = sessionOf(page);
    await at.kill();
    await page.getByText('No connection to Onyx').waitFor();
    await say(page, 'two');
    await log(page).getByText('waiting for the connection').waitFor();
    await page.getByText('1 message waits to be sent').waitFor();
    await page.evaluate(() => (history.pushState(null, '', '/chat'), dispatchEvent(new PopStateEvent('popstate'))));
    await page.getByRole('heading', { name: 'New chat' }).waitFor();
    await say(page, 'three');
    await log(page).getByText('waiting for the connection').waitFor();
    await at.start();
    await page.waitForURL(/\/chat\/[0-9a-f-]{36}/);
    await log(page).getByText('late').waitFor();
    await finished(page);
    expect(await wordsOf(at, sessionOf(page))).toEqual(['three']);
    await page.goto(`${at.url}/chat/${chat}`);
    await log(page).getByText('late').waitFor();
    await finished(page);
    expect(await log(page).getByText('two', { exact: true }).count()).toBe(1);
    expect(await wordsOf(at, chat)).toEqual(['one', 'two']);
    // Requests in progress are interrupted when the server is killed.
    const cut = /ERR_(CONNECTION_RESET|CONNECTION_CLOSED|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING)/;
    expect(page.wrongs.filter((wrong) => !cut.test(wrong))).toEqual([]);
  });

  test('words for an agent at work steer it', async () => {
    const at = await share([
      { calls: [{ id: 'a', name: 'list_files', input: {} }], text: words.slice(0, 30), delayMs: 90 },
      { text: 'Turned left.' },
    ]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'go');
    await log(page).getByText('word3').waitFor();
    await say(page, 'rather left');
    await log(page).getByText('rather left').waitFor();
    await log(page).getByText('Turned left.').waitFor();
    await finished(page);
    // While the run works, its messages are below the answer in progress; the log has them where the run took them.
    await expect.poll(() => log(page).innerText()).toMatch(/word3[\s\S]*rather left[\s\S]*Turned left\./);
    expect(page.wrongs).toEqual([]);
  });
});

test('the app starts without its server once it was there, and says so', async () => {
  const at = await play([]);
  const page = await open(at, '/chat', { serviceWorkers: 'allow' });
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await page.reload();
  await composer(page).waitFor();
  await at.kill();
  await page.reload();
  await composer(page).waitFor();
  await page.getByText('No connection to Onyx').waitFor();
  await composer(page).fill('kept');
  await at.start();
  await page.getByRole('link', { name: 'System: All systems OK' }).waitFor();
  expect(await composer(page).inputValue()).toBe('kept');
});

describe.each(WIDTHS)('writing and reading at %s px', (_, viewport) => {
  test('Enter that ends a composition does not send; Shift Enter makes a line; drafts are kept', async () => {
    const at = await share([]);
    const page = await open(at, '/chat', { viewport });
    await composer(page).pressSequentially('に');
    await composer(page).dispatchEvent('keydown', { key: 'Enter', keyCode: 229, isComposing: true, bubbles: true });
    await composer(page).press('Shift+Enter');
    await composer(page).pressSequentially('b');
    expect(await composer(page).inputValue()).toBe('に\nb');
    await page.reload();
    expect(await composer(page).inputValue()).toBe('に\nb');
    expect(page.url()).toMatch(/\/chat$/);
  });

  test('reading further up is not disturbed by growing text, and one button leads back', async () => {
    const long = Array.from({ length: 60 }, (_, index) => `Line ${index}\n\n`);
    const at = await share([{ text: [...long, ...words], delayMs: 30 }]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'long');
    await log(page).getByText('Line 40', { exact: true }).waitFor();
    await log(page).hover();
    const button = page.getByRole('button', { name: 'Jump to latest' });
    // On a busy machine a wheel event may be lost between two frames, so it is repeated. The page scrolls only with the
    // next frame.
    await expect
      .poll(async () => {
        await page.mouse.wheel(0, -400);
        await drawn(page);
        return button.isVisible();
      })
      .toBe(true);
    const top = await log(page).evaluate((element) => element.scrollTop);
    await page.waitForTimeout(400);
    expect(Math.abs((await log(page).evaluate((element) => element.scrollTop)) - top)).toBeLessThan(4);
    await button.click();
    await finished(page);
    const left = await log(page).evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight);
    expect(left).toBeLessThan(48);
  });

  test('a message is edited, an answer asked for again, and the versions are switched', async () => {
    const at = await share([{ text: 'first answer' }, { text: 'edited answer' }, { text: 'another answer' }]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'question');
    await finished(page);
    const original = page.url();
    await page.getByRole('article', { name: 'You' }).hover();
    await page.getByRole('button', { name: 'Edit and resend' }).click();
    await page.getByLabel('Edit your message').fill('other question');
    // The editor takes the place of the message, and Enter sends.
    expect(await page.getByRole('article', { name: 'You' }).count()).toBe(0);
    await page.keyboard.press('Enter');
    await log(page).getByText('edited answer').waitFor();
    expect(page.url()).not.toBe(original);
    await finished(page);
    await page.getByRole('article', { name: 'You' }).hover();
    await page.getByText('2/2').waitFor();
    await page.getByRole('button', { name: 'Previous version' }).click();
    await log(page).getByText('first answer').waitFor();
    expect(page.url()).toBe(original);
    await page.getByRole('button', { name: 'Regenerate' }).click();
    await log(page).getByText('another answer').waitFor();
    expect(page.wrongs).toEqual([]);
  });

  test('steps are shown verb first, open to their output, and what a run wrote is undone', async () => {
    const at = await share(
      [
        { calls: [{ id: 'a', name: 'write_file', input: { path: 'note.md', content: 'theirs\n' } }] },
        { text: 'Written.' },
      ],
      { files: { 'people/owner/vault/note.md': 'mine\n' } },
    );
    const page = await open(at, '/chat', { viewport });
    await say(page, 'write');
    await finished(page);
    await page.getByRole('button', { name: /Wrote note\.md/ }).click();
    await page.getByLabel('Arguments').waitFor();
    const note = () => readFile(join(at.home, 'people/owner/vault/note.md'), 'utf8');
    expect(await note()).toBe('theirs\n');
    await page.getByRole('button', { name: 'More for this reply' }).click();
    await page.getByRole('menuitem', { name: 'Undo file changes' }).click();
    await page.getByText('Restored').waitFor();
    expect(await note()).toBe('mine\n');
    // The rows show that the changes were undone, also after a reload, and can redo them.
    await page.getByRole('button', { name: /Undone note\.md/ }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: /Undone note\.md/ }).waitFor();
    await log(page).getByRole('button', { name: 'Redo' }).press('Enter');
    await page.getByRole('button', { name: /Wrote note\.md/ }).waitFor();
    expect(await note()).toBe('theirs\n');
    expect(page.wrongs).toEqual([]);
  });

  test('finds in the chat, goes anywhere by keyboard, shows the sheet', async () => {
    const at = await share([{ text: 'needle in hay' }]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'hay');
    await finished(page);
    await page.keyboard.press('Control+f');
    await page.getByLabel('Find in this chat').last().fill('needle');
    await page.getByText('1/1').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Search chats or type a command').fill('settings');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/settings/);
    await page.locator('h1').click();
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor();
    await page.keyboard.press('Escape');
    if (viewport.width < 768) await page.getByRole('link', { name: 'General' }).click();
    await page.getByRole('radio', { name: 'Dark' }).click();
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
    expect(page.wrongs).toEqual([]);
  });

  test('a token that is not known leads to signing in', async () => {
    const at = await share([]);
    const page = await open(at, '/chat', { viewport, token: 'onyx_sk_wrong' });
    await page.getByRole('button', { name: 'Use an access token' }).click();
    await page.getByLabel('Access token').fill('onyx_sk_e2e');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await composer(page).waitFor();
    expect(page.wrongs).toEqual([]);
  });

  test('the link that onyx prints signs a browser in without a token', async () => {
    const at = await share([{ text: 'welcome' }]);
    const made = await at.api('/api/admin/links', { method: 'POST', body: '{}' });
    const { url } = (await made.json()) as { url: string };
    const page = await open(at, new URL(url).pathname + new URL(url).search, { viewport, token: '' });
    await page.waitForURL(/\/chat$/);
    await say(page, 'hi');
    await finished(page);
    await page.goto(`${at.url}/settings/general`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    // Closing a page during a navigation can block Chromium, so this waits for the navigation.
    await page.waitForURL((address) => !address.pathname.startsWith('/settings'));
    await page.getByRole('heading', { name: 'Sign in to Onyx' }).waitFor();
    expect(page.wrongs.filter((wrong) => !wrong.includes('401'))).toEqual([]);
  });
});

describe('what must never happen', () => {
  test('hostile answers run nothing, load nothing from elsewhere and break no policy', async () => {
    const at = await share([{ text: HOSTILE.map((text) => `${text}\n\n`) }]);
    const page = await open(at);
    await say(page, 'show');
    await finished(page);
    for (const place of [0, 0.25, 0.5, 0.75, 1]) {
      await log(page).evaluate((element, share) => (element.scrollTop = element.scrollHeight * share), place);
      await page.waitForTimeout(250);
    }
    await page.waitForTimeout(1000);
    expect(await page.evaluate(() => (window as unknown as { pwned?: number }).pwned)).toBeUndefined();
    expect(page.wrongs).toEqual([]);
    expect(page.url()).toContain(at.url);
  });
});
