// Hands on a page: a keyboard that goes from where the focus is, and fingers.

import { expect } from 'vitest';
import { PHONE, type Visit } from './stage';

/** A browser of a phone. */
export const TOUCH = { viewport: PHONE, hasTouch: true, isMobile: true };

/** More stops than any page has. */
const STOPS = 120;

/** How the element with the focus is called, as a screen reader says it. */
const focusedName = (page: Visit) =>
  page.evaluate(() => {
    const it = document.activeElement;
    if (!(it instanceof HTMLElement) || it === document.body) return '';
    const labels = it instanceof HTMLInputElement || it instanceof HTMLSelectElement ? (it.labels ?? []) : [];
    return it.getAttribute('aria-label') ?? ([...labels].map((label) => label.innerText).join(' ') || it.innerText);
  });

/** Goes on with Tab until the focus is on what is called so. Fails when it is nowhere on the way. */
export async function tabTo(page: Visit, name: string | RegExp, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  const passed: string[] = [];
  for (let stop = 0; stop < STOPS; stop += 1) {
    const now = (await focusedName(page)).trim();
    if (typeof name === 'string' ? now === name : name.test(now)) return;
    passed.push(now);
    await page.keyboard.press(key);
  }
  expect(passed, `${name} is not reached`).toContain(name);
}

/** Reached by keys, then pressed. */
export async function press(page: Visit, name: string | RegExp, key = 'Enter'): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press(key);
}

/** What is wider than the screen. */
export async function tooWide(page: Visit): Promise<string[]> {
  const [width, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const);
  return width > screen ? [`${page.url()} is ${width} px wide on ${screen}`] : [];
}
