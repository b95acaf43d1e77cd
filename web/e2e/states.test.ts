import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { furnished, type Furnished } from './furnished';
import { WIDTHS } from './play';
import { PLACES, type Place } from './places';
import { closeBrowser, stage, visit, type Stage, type Visit } from './stage';
import { Sky } from './weather';

let home: Furnished;
let fresh: Stage;

beforeAll(async () => {
  [home, fresh] = await Promise.all([furnished(), stage([])]);
}, 240_000);
afterAll(async () => {
  await closeBrowser();
  await home.at.end();
  await fresh.end();
});

const main = (page: Visit) => page.locator('main');
/** Nothing on the page is wider than the screen. */
const overhang = (page: Visit) => page.evaluate(() => [...document.querySelectorAll('main, main > *')].filter((part) => part.scrollWidth > part.clientWidth + 1).map((part) => part.className));

async function settled(page: Visit): Promise<void> {
  await main(page).locator('h1').waitFor();
  await page.waitForTimeout(200);
  await main(page).locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
}

const each = test.each(PLACES.map((place) => [place.name, place] as const));

each('%s shows that it loads, what failed and what to do, and stays to be read offline', async (_, place) => {
  const page = await visit(home.at, '/nowhere');
  const sky = new Sky(page);
  await sky.watch();
  await sky.change('loading');
  await page.goto(home.at.url + place.path(home));
  await main(page).locator('[aria-busy=true]').first().waitFor();
  await sky.change('error');
  await page.goto(home.at.url + place.path(home));
  const alert = main(page).getByRole('alert').first();
  await alert.getByRole('button', { name: 'Copy details' }).waitFor();
  await alert.getByRole('button', { name: /again/ }).waitFor();
  await sky.change('live');
  await page.goto(home.at.url + place.path(home));
  await settled(page);
  expect(await main(page).getByRole('alert').count()).toBe(0);
  const shown = (await main(page).innerText()).length;
  await sky.change('offline');
  await page.getByRole('link', { name: 'System: Not connected' }).waitFor();
  expect((await main(page).innerText()).length).toBeGreaterThan(shown / 2);
  await page.context().close();
});

describe.each(WIDTHS)('at %s px', (_, viewport) => {
  test('no page is wider than the screen, with much and with nothing to show', async () => {
    const found: string[] = [];
    for (const [at, path] of [
      [home.at, (place: Place) => place.path(home)],
      [fresh, (place: Place) => place.empty ?? place.path(home)],
    ] as const) {
      const page = await visit(at, '/nowhere', { viewport });
      for (const place of PLACES) {
        await page.goto(at.url + path(place));
        await settled(page);
        if ((await main(page).getByRole('alert').count()) > 0) found.push(`${place.name} failed`);
        found.push(...(await overhang(page)).map((part) => `${place.name}: ${part}`));
      }
      found.push(...page.wrongs.filter((wrong) => !wrong.includes('404')));
      await page.context().close();
    }
    expect(found).toEqual([]);
  });
});
