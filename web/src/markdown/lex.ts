// Parses markdown into tokens incrementally: a finished block is never parsed again.

import { Marked, type Token, type TokenizerExtension, type Tokens } from 'marked';

export interface MathToken {
  type: 'math';
  raw: string;
  text: string;
  display: boolean;
}

const BLOCK_MATH = /^(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])(?:\n+|$)/;
// Prices must not match: no space inside the dollar signs and no digit after them.
const INLINE_MATH = /^(?:\$(?![\s$])((?:\\.|[^\\\n$])+?)(?<!\s)\$(?!\d)|\\\(((?:\\.|[^\\\n])+?)\\\))/;

const blockMath: TokenizerExtension = {
  name: 'math',
  level: 'block',
  start: (source) => source.match(/\$\$|\\\[/)?.index,
  tokenizer: (source) => math(BLOCK_MATH.exec(source), true),
};

const inlineMath: TokenizerExtension = {
  name: 'math',
  level: 'inline',
  start: (source) => source.match(/\$|\\\(/)?.index,
  tokenizer: (source) => math(INLINE_MATH.exec(source), false),
};

function math(match: RegExpExecArray | null, display: boolean): Tokens.Generic | undefined {
  if (!match) return undefined;
  return { type: 'math', raw: match[0], text: (match[1] ?? match[2] ?? '').trim(), display };
}

export interface FootnoteToken {
  type: 'footnote' | 'footnote_ref';
  raw: string;
  label: string;
  tokens?: Token[];
}

/** `[^1]: text`, with indented lines below it. */
const footnote: TokenizerExtension = {
  name: 'footnote',
  level: 'block',
  start: (source) => source.match(/^\[\^/m)?.index,
  tokenizer(source) {
    const match = /^\[\^([^\]\s]+)\]:[ \t]+([^\n]+(?:\n[ \t]{2,}[^\n]+)*)(?:\n+|$)/.exec(source);
    if (!match) return undefined;
    const [raw, label = '', text = ''] = match;
    return { type: 'footnote', raw, label, tokens: this.lexer.inlineTokens(text.replace(/\n[ \t]+/g, ' ')) };
  },
};

const footnoteRef: TokenizerExtension = {
  name: 'footnote_ref',
  level: 'inline',
  start: (source) => source.indexOf('[^'),
  tokenizer: (source) => {
    const match = /^\[\^([^\]\s]+)\](?!:)/.exec(source);
    return match ? { type: 'footnote_ref', raw: match[0], label: match[1] ?? '' } : undefined;
  },
};

export interface PageLinkToken {
  type: 'page_link';
  raw: string;
  title: string;
  words: string;
}

/** `[[Title]]` or `[[Title|other words]]`, as pages link to each other. */
const pageLink: TokenizerExtension = {
  name: 'page_link',
  level: 'inline',
  start: (source) => source.indexOf('[['),
  tokenizer: (source) => {
    const match = /^\[\[([^[\]|#\n]+)(#[^[\]|\n]*)?(?:\|([^[\]\n]+))?\]\]/.exec(source);
    if (!match) return undefined;
    const title = (match[1] ?? '').trim();
    return { type: 'page_link', raw: match[0], title, words: match[3]?.trim() ?? title };
  },
};

const marked = new Marked({ gfm: true, extensions: [blockMath, inlineMath, footnote, footnoteRef, pageLink] });

/** All blocks of a complete text. */
export function lex(text: string): Token[] {
  return marked.lexer(text).filter((token) => token.type !== 'space' && token.type !== 'def');
}

let closeMarks = (text: string): string => text;
let loading: Promise<void> | undefined;

/** Loads the library that closes unfinished emphasis and links. Only a growing text needs it, so it is loaded with the
 * first one. Until then, or if loading fails, unfinished marks are shown as written. */
export function loadMarkCloser(): Promise<void> {
  loading ??= import('remend').then(
    (module) => {
      closeMarks = (text) => module.default(text);
    },
    () => {
      loading = undefined;
    },
  );
  return loading;
}

/** The blocks of a growing text. Finished blocks keep their identity, so they are drawn once. */
export class GrowingText {
  private frozen: Token[] = [];
  private offset = 0;
  private seen = '';

  constructor() {
    void loadMarkCloser();
  }

  blocks(text: string): Token[] {
    if (!text.startsWith(this.seen)) this.forget();
    this.seen = text;
    const fresh = marked.lexer(text.slice(this.offset));
    // A block is finished when another block has started after it.
    let last = fresh.length - 1;
    while (last >= 0 && fresh[last]?.type === 'space') last -= 1;
    for (const token of fresh.slice(0, Math.max(last, 0))) {
      this.offset += token.raw.length;
      if (token.type !== 'space' && token.type !== 'def') this.frozen.push(token);
    }
    const open = fresh[last];
    // The renderer may cache a list by its identity, so each call returns a new list.
    return open ? [...this.frozen, ...closed(open)] : [...this.frozen];
  }

  private forget(): void {
    this.frozen = [];
    this.offset = 0;
  }
}

/** The block being written, its half emphasis and links closed so that they do not flicker. */
function closed(token: Token): Token[] {
  if (token.type === 'code' || token.type === 'html') return [token];
  const whole = closeMarks(token.raw);
  return whole === token.raw ? [token] : lex(whole);
}
