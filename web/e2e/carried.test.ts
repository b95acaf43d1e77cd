// The app on a phone: chats that are read offline, and content that other apps share. Also automatic retries of a
// paused model, and the tour.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { brokenAnywhere } from './axe';
import { clearsAfterEach, composer, finished, log, open, play, say, toast, told, WIDTHS } from './play';
import type { Stage } from './stage';

clearsAfterEach();

const kept = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<string[]>((resolve) => {
        const opening = indexedDB.open('onyx-offline');
        opening.onupgradeneeded = () => opening.transaction?.abort();
        opening.onerror = () => resolve([]);
        opening.onsuccess = () => {
          const all = opening.result.transaction('chats').objectStore('chats').getAllKeys();
          all.onsuccess = () => (opening.result.close(), resolve(all.result.map(String)));
        };
      }),
  );

async function worked(page: Page): Promise<void> {
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await page.reload();
  await composer(page).waitFor();
  await expect.poll(() => page.evaluate(() => navigator.serviceWorker.controller !== null)).toBe(true);
}

describe.each(WIDTHS)('at %s px', (_, viewport) => {
  test('a chat that was read is read again without a server, few are kept, and signing out forgets them', async () => {
    const at = await play([{ text: 'Leave at nine.' }]);
    const page = await open(at, '/chat', { viewport, serviceWorkers: 'allow' });
    await worked(page);
    await say(page, 'when do we leave');
    await finished(page);
    await page.waitForURL(/\/chat\/.+/);
    await expect.poll(() => kept(page)).toHaveLength(1);
    const ids: string[] = [];
    for (let index = 0; index < 21; index += 1) {
      const id = await told(at, `more ${index}`);
      ids.push(id);
      await page.evaluate(
        (to) => (history.pushState(null, '', to), dispatchEvent(new PopStateEvent('popstate'))),
        `/chat/${id}`,
      );
      await log(page).getByText(`more ${index}`, { exact: true }).waitFor();
      await log(page).getByText('ok', { exact: true }).waitFor();
    }
    // A chat is shown a moment before it is kept.
    await expect.poll(() => kept(page)).toEqual(ids.slice(-20).sort());
    const shown = page.url();
    await at.kill();
    await page.reload();
    await page.getByText('You are offline. This is the chat as you last read it here.').waitFor();
    await log(page).getByText('more 20').waitFor();
    expect(page.url()).toBe(shown);
    // Another person who signs in on this browser cannot read the stored chats.
    await page.evaluate(() => localStorage.setItem('onyx.token', JSON.stringify('onyx_sk_somebody')));
    await page.reload();
    await page.getByText('No connection to Onyx').waitFor();
    expect(await page.getByText('more 20').count()).toBe(0);
    await at.start();
    // The server refuses this credential, so the stored chats are deleted.
    await page.getByText('Sign in to Onyx').waitFor();
    await expect.poll(() => kept(page)).toEqual([]);
  });

  test('signing out leaves no chat behind', async () => {
    const at = await play([{ text: 'Leave at nine.' }]);
    const page = await open(at, '/chat', { viewport, colorScheme: 'light' });
    await say(page, 'when do we leave');
    await finished(page);
    await expect.poll(() => kept(page)).toHaveLength(1);
    await page.goto(`${at.url}/settings/general`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    // The test harness sets the token again on each page.
    await page.waitForURL('**/chat');
    await composer(page).waitFor();
    expect(await kept(page)).toEqual([]);
  });

  test('words and files that another app shares wait in a new chat, or are kept in a space', async () => {
    const at = await play([], {
      files: { 'people/owner/spaces/house/space.json': JSON.stringify({ name: 'House' }) },
    });
    const page = await open(at, '/chat', { viewport, serviceWorkers: 'allow' });
    await worked(page);
    await shareNote(page);
    await page.waitForURL(/\/chat\?.*files=1/);
    await expect.poll(() => composer(page).inputValue()).toBe('Pass\nclosed at noon');
    await page.getByRole('list', { name: 'Attachments' }).getByText('note.txt').waitFor();
    await page.getByRole('button', { name: 'Keep in a space instead' }).press('Enter');
    await page.getByRole('menuitem', { name: 'House' }).press('Enter');
    await toast(page, 'Kept in House');
    await page.waitForURL('**/spaces/house/refs');
    await page.locator('main').getByRole('link', { name: /note/ }).waitFor();
    expect(await refs(at)).toBe(2);
  });

  test('a paused model is asked again by itself when its pause is over', async () => {
    const at = await play([], { fallback: { refused: 503 } });
    const page = await open(at, '/chat', { viewport });
    await composer(page).waitFor();
    // After this many failures the server pauses the model, for a few seconds.
    await Promise.all(Array.from({ length: 6 }, (__, index) => told(at, `fails ${index}`)));
    const alert = page.getByRole('alert');
    await say(page, 'hello');
    await alert.getByText(/^mine\/some-model keeps failing\. Paused; retrying in \d+ s\.$/).waitFor();
    await at.script([], { text: 'Back again.' });
    await log(page).getByText('Back again.').waitFor();
  });

  test('the tour is offered to whoever is new, goes through the places by keyboard, and is skipped for good', async () => {
    const at = await play([]);
    const page = await open(at, '/chat', { viewport, colorScheme: 'light' });
    await page.getByRole('button', { name: 'Take the tour' }).press('Enter');
    const tour = page.getByRole('dialog', { name: 'Tour' });
    const isOnNext = () => tour.getByRole('button', { name: 'Next' }).evaluate((one) => one === document.activeElement);
    await tour.getByText('1 of 5').waitFor();
    await expect.poll(isOnNext).toBe(true);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/inbox');
    expect(await brokenAnywhere(page, 'tour')).toEqual([]);
    await page.setViewportSize(viewport);
    await tour.getByRole('button', { name: 'Back' }).press('Enter');
    await page.waitForURL('**/chat');
    await expect.poll(isOnNext).toBe(true);
    await page.keyboard.press('Escape');
    await tour.waitFor({ state: 'detached' });
    await page.reload();
    await composer(page).waitFor();
    expect(await page.getByRole('button', { name: 'Take the tour' }).count()).toBe(0);
    expect(page.wrongs).toEqual([]);
  });
});

/** Shares a note as the system does: a form is posted to the address in the manifest. */
async function shareNote(page: Page): Promise<void> {
  const manifest = JSON.parse(await readFile(join(import.meta.dirname, '../public/manifest.webmanifest'), 'utf8')) as {
    share_target: { action: string; method: string; enctype: string };
  };
  await page.evaluate(({ action, method, enctype }) => {
    const form = document.createElement('form');
    Object.assign(form, { action, method, enctype });
    for (const [name, value] of Object.entries({ title: 'Pass', text: 'closed at noon' })) {
      const field = document.createElement('input');
      Object.assign(field, { name, value, type: 'hidden' });
      form.append(field);
    }
    const files = document.createElement('input');
    Object.assign(files, { name: 'files', type: 'file' });
    const data = new DataTransfer();
    data.items.add(new File(['Road closed.\n'], 'note.txt', { type: 'text/plain' }));
    files.files = data.files;
    form.append(files);
    document.body.append(form);
    form.submit();
  }, manifest.share_target);
}

async function refs(at: Stage): Promise<number> {
  const answer = await at.api('/api/spaces/house/refs');
  return ((await answer.json()) as { entities: unknown[] }).entities.length;
}
