// Checks the accessibility rules on a page, at both widths and in both themes.

import axe, { type AxeResults } from 'axe-core';
import { drawn } from './going';
import { PHONE, WIDE, type Visit } from './stage';

type Scheme = 'light' | 'dark';

/** The themes differ only in colours, so in the dark one only contrast is checked. */
async function broken(page: Visit, where: string, scheme: Scheme): Promise<string[]> {
  const { violations } = await page.evaluate(
    (rules) => {
      const run = (window as unknown as { axe: { run: (context: Document, options: object) => Promise<AxeResults> } })
        .axe.run;
      return run(document, { resultTypes: ['violations'], ...(rules && { runOnly: rules }) });
    },
    scheme === 'dark' ? ['color-contrast'] : undefined,
  );
  return violations.map(
    ({ id, nodes }) => `${where} ${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(' | ')}`,
  );
}

/** Checks the page as it is shown, without loading it again. `each` adds a check for each width. */
export async function brokenAnywhere(page: Visit, where: string, each?: () => Promise<string[]>): Promise<string[]> {
  const found: string[] = [];
  const isThere = await page.evaluate(() => 'axe' in window);
  if (!isThere) await page.evaluate(axe.source);
  for (const viewport of [WIDE, PHONE]) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.locator(`html[data-theme=${colorScheme}]`).waitFor();
      await drawn(page);
      found.push(...(await broken(page, `${where} ${viewport.width} ${colorScheme}`, colorScheme)));
    }
    found.push(...((await each?.()) ?? []));
  }
  await page.setViewportSize(WIDE);
  return found;
}
