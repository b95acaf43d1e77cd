// Navigates between pages without loading the app again, and waits until a page is idle.

import type { Visit } from './stage';

/** How many times in a row, two frames apart, a page must be idle. */
const QUIET = 3;

/** Navigates within the app, as a person does. */
export async function go(page: Visit, path: string): Promise<void> {
  await page.evaluate((to) => {
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, path);
  await settled(page);
}

/** Waits until all data has arrived and is drawn. */
export async function settled(page: Visit): Promise<void> {
  await page.locator('main h1').waitFor();
  for (let quiet = 0; quiet < QUIET; ) {
    await page.locator('main [aria-busy=true]').first().waitFor({ state: 'detached' });
    await drawn(page);
    const busy = page.asked.size > 0 || (await page.locator('main [aria-busy=true]').count()) > 0;
    quiet = busy ? 0 : quiet + 1;
  }
}

/** Waits for two frames, so that everything set before is on the screen. */
export const drawn = (page: Visit) =>
  page.evaluate(
    () => new Promise<void>((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve()))),
  );
