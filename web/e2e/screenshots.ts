// `make screenshots`: every page in five states, at two widths, in both themes. With words given, only the pages they name.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { furnished, type Furnished } from './furnished';
import { PLACES, type Place } from './places';
import { closeBrowser, PHONE, stage, visit, WIDE, type Stage } from './stage';
import { Sky } from './weather';

const folder = fileURLToPath(new URL('../../docs/screenshots', import.meta.url));
const only = process.argv.slice(2);
const QUALITY = 62;
const BANNER_MS = 3_300;

type State = 'loading' | 'empty' | 'error' | 'long' | 'offline';

/** As it is now, in both themes. */
async function shoot(page: Page, name: (theme: string) => string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await page.locator(`html[data-theme=${theme}]`).waitFor();
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
    await writeFile(join(folder, `${name(theme)}.webp`), Buffer.from(data, 'base64'));
  }
  await session.detach();
}

/** Formulas and colours come a moment later; the beginning says what the chat is about. */
async function drawn(page: Page): Promise<void> {
  await page.locator('math').first().waitFor();
  await page.locator('.code code span').first().waitFor();
  await page.locator('[role=log]').evaluate((log) => (log.scrollTop = 0));
  await page.waitForTimeout(500);
}

/** What is being fetched is waited for, and what is drawn a moment later. */
async function settled(page: Page): Promise<void> {
  await page.locator('main h1').waitFor();
  await page.waitForTimeout(300);
  await page.locator('main [aria-busy=true]').first().waitFor({ state: 'detached' });
  await page.waitForTimeout(250);
}

async function states(home: Furnished, fresh: Stage, place: Place, viewport: typeof WIDE): Promise<void> {
  const options = { viewport, reducedMotion: 'reduce' as const };
  const name = (state: State) => (theme: string) => `${place.name}-${state}-${viewport.width}-${theme}`;
  const page = await visit(home.at, '/nowhere', options);
  const sky = new Sky(page);
  await sky.watch();
  await page.goto(home.at.url + place.path(home));
  await settled(page);
  if (place.name === 'chat') await drawn(page);
  await shoot(page, name('long'));
  await sky.change('offline');
  await page.waitForTimeout(BANNER_MS);
  await shoot(page, name('offline'));
  for (const state of ['loading', 'error'] as const) {
    await sky.change(state);
    await page.goto(home.at.url + place.path(home));
    if (state === 'error') await settled(page);
    else await page.waitForTimeout(900);
    await shoot(page, name(state));
  }
  await page.context().close();
  const empty = await visit(fresh, place.empty ?? place.path(home), options);
  await settled(empty);
  await shoot(empty, name('empty'));
  await empty.context().close();
}

const wanted = PLACES.filter(({ name }) => only.length === 0 || only.includes(name));
if (only.length === 0) await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
const home = await furnished();
const fresh = await stage([]);
for (const place of wanted) {
  for (const viewport of [WIDE, PHONE]) await states(home, fresh, place, viewport);
  console.error(place.name);
}
await closeBrowser();
await home.at.end();
await fresh.end();
