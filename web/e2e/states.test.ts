import { afterAll, beforeAll, expect, test } from 'vitest';
import { brokenAnywhere } from './axe';
import { furnished, type Furnished } from './furnished';
import { drawn, go, settled } from './going';
import { PLACES } from './places';
import { unreadable } from './readable';
import { PHONE, stage, visit, WIDE, type Stage, type Visit } from './stage';
import { Sky } from './weather';

let home: Furnished;
let fresh: Stage;
let page: Visit;
let sky: Sky;

beforeAll(async () => {
  [home, fresh] = await Promise.all([furnished(), stage([])]);
  page = await visit(home.at, '/nowhere', { reducedMotion: 'reduce' });
  sky = new Sky(page);
  await sky.watch();
}, 240_000);
afterAll(async () => {
  await page.context().close();
  await home.at.end();
  await fresh.end();
});

const main = (at: Visit) => at.locator('main');
/** Checks that nothing on the page is wider than the screen. */
const overhang = (at: Visit) =>
  at.evaluate(() =>
    [...document.querySelectorAll('main, main > *')]
      .filter((part) => part.scrollWidth > part.clientWidth + 1)
      .map((part) => `too wide: ${part.className}`),
  );

test.each(PLACES.map((place) => [place.name, place] as const))(
  '%s shows that it loads, what failed and what to do; fits both widths, breaks no rule of accessibility, and stays to be read offline',
  async (name, place) => {
    page.wrongs = [];
    await sky.change('loading');
    await page.goto(home.at.url + place.path(home));
    if (!place.isStatic) {
      await main(page).locator('[aria-busy=true]').first().waitFor();
      // The requests that were held while the page loaded fail now.
      await sky.change('error');
      const alert = main(page).getByRole('alert').first();
      await alert.getByRole('button', { name: 'Copy details' }).waitFor();
      await alert.getByRole('button', { name: /Retry|again/ }).waitFor();
    }
    expect(page.wrongs.filter((wrong) => !wrong.includes('500'))).toEqual([]);
    expect(await unreadable(page, `${name} failing`)).toEqual([]);
    // The failing page is left completely, so that its last failures are not counted for the next page.
    await page.goto('about:blank');
    page.wrongs = [];
    await sky.change('live');
    await page.goto(home.at.url + place.path(home));
    await settled(page);
    expect(await main(page).getByRole('alert').count()).toBe(0);
    expect(await unreadable(page, `${name} full`)).toEqual([]);
    expect(await brokenAnywhere(page, name, () => overhang(page))).toEqual([]);
    expect(page.wrongs.filter((wrong) => !wrong.includes('404'))).toEqual([]);
    const shown = (await main(page).innerText()).length;
    await sky.change('offline');
    await page.getByRole('link', { name: 'System: Not connected' }).waitFor();
    expect((await main(page).innerText()).length).toBeGreaterThan(shown / 2);
  },
);

test('no page of a fresh home fails or is wider than the screen', async () => {
  const found: string[] = [];
  const empty = await visit(fresh, '/nowhere', { reducedMotion: 'reduce' });
  for (const place of PLACES) {
    await go(empty, place.empty ?? place.path(home));
    if ((await main(empty).getByRole('alert').count()) > 0) found.push(`${place.name} failed`);
    found.push(...(await unreadable(empty, `${place.name} empty`)));
    for (const viewport of [WIDE, PHONE]) {
      await empty.setViewportSize(viewport);
      await drawn(empty);
      found.push(...(await overhang(empty)).map((part) => `${place.name} ${viewport.width}: ${part}`));
    }
  }
  await empty.context().close();
  expect([...found, ...empty.wrongs.filter((wrong) => !wrong.includes('404'))]).toEqual([]);
});
