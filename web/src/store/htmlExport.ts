// Exports a conversation as one self-contained HTML page. Loaded on the first export.

import { marked, Renderer } from 'marked';

const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);

const STYLE = `body{max-width:760px;margin:32px auto;padding:0 16px;font:16px/1.6 system-ui,sans-serif;color:#1b1c1e;background:#fbfbfa}
pre,code{font:13px/1.5 ui-monospace,monospace;background:#f3f3f1;border-radius:6px}pre{padding:12px;overflow:auto}code{padding:0 4px}
table{border-collapse:collapse}th,td{border:1px solid #e2e2de;padding:4px 10px;text-align:left}
blockquote{margin-left:0;padding-left:14px;border-left:2px solid #e2e2de;color:#5c6066}img{max-width:100%}
@media(prefers-color-scheme:dark){body{color:#e7e8ea;background:#101113}pre,code{background:#0b0c0d}th,td,blockquote{border-color:#2a2c31}a{color:#8ab4f8}}`;

/** The page loads nothing and runs no script, even if the conversation contains some. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/** The text of a Markdown export as a page. HTML in it is shown as text, and only web and mail links lead anywhere. */
export function htmlPageOf(title: string, markdown: string): string {
  const renderer = new Renderer();
  const { link } = renderer;
  renderer.html = ({ text }) => escaped(text);
  renderer.link = function (token) {
    return /^(https?:|mailto:)/i.test(token.href) ? link.call(this, token) : this.parser.parseInline(token.tokens);
  };
  renderer.image = ({ text, href }) => escaped(text || href);
  const body = marked.parse(markdown, { renderer, async: false });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}"><title>${escaped(title)}</title><style>${STYLE}</style></head>
<body>${body}</body></html>
`;
}
