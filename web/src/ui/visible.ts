/**
 * Makes text of a model, a file or a page safe to read: characters that are invisible or change the writing direction
 * are shown as `\u{202e}` and the like. `crates/types/src/visible.rs` does the same; `crates/types/tests/visible.json`
 * tests both.
 */

// Control characters, direction marks and zero-width characters: the first and the last of each range.
const DECEIVING: [number, number?][] = [
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0xad],
  [0x34f],
  [0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff],
  [0xffa0],
  [0xfff0, 0xfffb],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
];
const point = (code: number) => `\\u{${code.toString(16)}}`;
const DECEIVES = new RegExp(
  `[${DECEIVING.map(([first, last]) => (last ? `${point(first)}-${point(last)}` : point(first))).join('')}]`,
  'gu',
);

// Used in Persian and in emoji: a selector, a joiner or both, directly after a character outside ASCII.
const JOINED = /(?<=[^\0-\x7f])(?:\u{fe0e}|\u{fe0f})?(?:\u{200c}|\u{200d})?/uy;

export function visible(text: string): string {
  DECEIVES.lastIndex = 0;
  if (!DECEIVES.test(text)) return text;
  let shown = '';
  let at = 0;
  DECEIVES.lastIndex = 0;
  for (let found = DECEIVES.exec(text); found; found = DECEIVES.exec(text)) {
    const before = text.slice(at, found.index);
    shown += before;
    at = found.index;
    JOINED.lastIndex = at;
    // A joiner directly after a written-out character is written out too.
    const stays = before === '' && at > 0 ? '' : (JOINED.exec(text)?.[0] ?? '');
    shown += stays === '' ? writtenOut(found[0]) : stays;
    at += stays === '' ? found[0].length : stays.length;
    DECEIVES.lastIndex = at;
  }
  return shown + text.slice(at);
}

function writtenOut(character: string): string {
  return character === '\r' ? '\\r' : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
