/**
 * Text that a model, a file or a page chose, safe to look at: whatever would turn the direction of writing or stand there
 * unseen is written out (`\u{202e}`). The twin of `crates/types/src/visible.rs`; `crates/types/tests/visible.json` holds the
 * cases of both.
 */

// Controls, marks of direction, and what has no width of its own.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const DECEIVES =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

// As in Persian and in emoji: a selector, a joiner or both, directly after a character outside ASCII.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the bounds of ASCII.
const JOINED = /(?<=[^\0-\x7f])[\ufe0e\ufe0f]?[\u200c\u200d]?/uy;

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
    // What was itself written out is no character that something could belong to.
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
