// Uses a page as people do: with a keyboard that starts from the focus, and with fingers.

import { expect } from 'vitest';
import { PHONE, type Visit } from './stage';

/** The settings of a phone's browser. */
export const TOUCH = { viewport: PHONE, hasTouch: true, isMobile: true };

/** More tab stops than any page has. */
const STOPS = 120;

/** The name of the focused element, as a screen reader says it. */
const focusedName = (page: Visit) =>
  page.evaluate(() => {
    const it = document.activeElement;
    if (!(it instanceof HTMLElement) || it === document.body) return '';
    const labels = it instanceof HTMLInputElement || it instanceof HTMLSelectElement ? (it.labels ?? []) : [];
    return it.getAttribute('aria-label') ?? ([...labels].map((label) => label.innerText).join(' ') || it.innerText);
  });

/** Presses Tab until the focus is on the element with this name. Fails if no tab stop has it. */
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

/** Moves the focus to the element with the keyboard and presses it. */
export async function press(page: Visit, name: string | RegExp, key = 'Enter'): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press(key);
}

/** Whether the page is wider than the screen, as a list of flaws. */
export async function tooWide(page: Visit): Promise<string[]> {
  const [width, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const);
  return width > screen ? [`${page.url()} is ${width} px wide on ${screen}`] : [];
}
