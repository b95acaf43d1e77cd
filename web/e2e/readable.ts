// Text that no page may show to a person, whatever the server sends: raw data, names from the code, missing values, and
// plurals after the number one.

import type { Page } from 'playwright-core';

/** Elements that show files, config keys, commands and people's own words unchanged. */
const AS_WRITTEN =
  'pre, code, textarea, input, select, .font-mono, .editor, .prose, .step, .diff, .words, [dir=auto], [data-of-file]';

const WRONG: [string, RegExp][] = [
  ['raw JSON', /[{[]\s*"[^"]*"\s*[:,]|"\s*:\s*["{[\d]/],
  ['a value that is none', /\b(undefined|null|NaN|Invalid Date)\b|\[object /],
  ['a plural of one', /(?<![\d.,:-])1 (?!(?:min|ms|s|h)\b)[a-z]+(?:s|es)\b(?! ago)/],
  ['a name of the code', /\b[a-z]+(?:_[a-z]+)+\b|\b[a-z]+::[a-z]+/],
];

/** Finds such text with its surroundings; empty if the page is readable. */
export async function unreadable(page: Page, where: string): Promise<string[]> {
  const texts = await page.evaluate((asWritten) => {
    const found: string[] = [];
    // The text of an element. Content shown unchanged is left out, and blocks are separated.
    const said = (element: Element): string =>
      [...element.childNodes]
        .map((node) => {
          if (!(node instanceof Element)) return node.textContent ?? '';
          const text = node.matches(asWritten) ? '' : said(node);
          return getComputedStyle(node).display === 'inline' ? text : `\n${text}\n`;
        })
        .join('');
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const within = node.parentElement;
      if (!within || within.closest(asWritten) || within.closest('script, style')) continue;
      if (within.getClientRects().length > 0 && node.textContent?.trim()) found.push(said(within));
    }
    return [...new Set(found)];
  }, AS_WRITTEN);
  return texts.flatMap((text) =>
    WRONG.filter(([, wrong]) => wrong.test(text)).map(([name]) => `${where}: ${name}: ${text.slice(0, 120)}`),
  );
}
