// From page to page without loading the app again, and when a page has come to rest.

import type { Visit } from './stage';

/** Looks without anything under way, two frames apart, until a page counts as at rest. */
const QUIET = 3;

/** Within the app, as a person goes. */
export async function go(page: Visit, path: string): Promise<void> {
  await page.evaluate((to) => {
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, path);
  await settled(page);
}

/** What is being fetched has come and is drawn. */
export async function settled(page: Visit): Promise<void> {
  await page.locator('main h1').waitFor();
  for (let quiet = 0; quiet < QUIET; ) {
    await page.locator('main [aria-busy=true]').first().waitFor({ state: 'detached' });
    await drawn(page);
    const busy = page.asked.size > 0 || (await page.locator('main [aria-busy=true]').count()) > 0;
    quiet = busy ? 0 : quiet + 1;
  }
}

/** Two frames: whatever was set before is on the screen. */
export const drawn = (page: Visit) =>
  page.evaluate(
    () => new Promise<void>((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve()))),
  );
