// The markdown that pages are written in, as a language of the editor: GitHub's, with links between pages.

import { defineLanguageFacet, Language, languageDataProp } from '@codemirror/language';
import { GFM, parser, type MarkdownConfig } from '@lezer/markdown';

const OPEN = '['.charCodeAt(0);
const CLOSE = ']'.charCodeAt(0);
const LINE_END = '\n'.charCodeAt(0);

/** `[[Title]]`, or `[[Title|other words]]`. */
const pageLinks: MarkdownConfig = {
  defineNodes: ['PageLink', 'PageLinkMark'],
  parseInline: [
    {
      name: 'PageLink',
      before: 'Link',
      parse(context, next, at) {
        if (next !== OPEN || context.char(at + 1) !== OPEN) return -1;
        for (let end = at + 2; end < context.end && context.char(end) !== LINE_END; end += 1) {
          if (context.char(end) !== CLOSE || context.char(end + 1) !== CLOSE) continue;
          if (end === at + 2) return -1;
          const marks = [context.elt('PageLinkMark', at, at + 2), context.elt('PageLinkMark', end, end + 2)];
          return context.addElement(context.elt('PageLink', at, end + 2, marks));
        }
        return -1;
      },
    },
  ],
};

const facet = defineLanguageFacet();

export const pageMarkdown = new Language(
  facet,
  parser.configure([GFM, pageLinks, { props: [languageDataProp.add({ Document: facet })] }]),
  [],
  'markdown',
);
