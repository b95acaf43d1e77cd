import { renderToStaticMarkup } from 'react-dom/server';
import { beforeAll, describe, expect, test } from 'vitest';
import { NamedHosts, hostsIn } from '../src/markdown/namedHosts';
import { GrowingText, lex, loadMarkCloser } from '../src/markdown/lex';
import { isInlineImage, safeLink } from '../src/markdown/links';
import { Markdown } from '../src/markdown/Markdown';
import { HOSTILE } from './hostile';

/** The rendered page without the app's own icons. */
const html = (text: string) =>
  renderToStaticMarkup(<Markdown text={text} />).replace(/<svg [^>]*class="lucide[\s\S]*?<\/svg>/g, '');

describe('rendering', () => {
  test('blocks and inline marks become their elements', () => {
    const shown = html('# Title\n\nA **b** _c_ `d` ~~e~~\n\n- one\n- [x] two\n\n1. first\n\n> said\n\n---\n');
    for (const piece of [
      '<h3',
      '<strong>b</strong>',
      '<em>c</em>',
      '<code>d</code>',
      '<del>e</del>',
      '<ul>',
      'checked=""',
      '<ol start="1">',
      '<blockquote dir="auto">',
      '<hr/>',
    ]) {
      expect(shown).toContain(piece);
    }
  });

  test('tables keep their alignment', () => {
    expect(html('| a | b |\n|---|---:|\n| 1 | 2 |')).toMatch(
      /<td dir="auto" style="text-align:right;white-space:nowrap">2<\/td>/,
    );
  });

  test('entities are shown as the characters they stand for', () => {
    expect(html('a &lt;b&gt; `x < y` 5 > 4')).toContain('a &lt;b&gt; <code>x &lt; y</code> 5 &gt; 4');
  });

  test('a link shows its host unless its words do', () => {
    expect(html('[here](https://a.example/x)')).toContain('<span class="host"> a.example</span>');
    expect(html('https://a.example/x')).not.toContain('class="host"');
  });

  test('a link is live where the person named its host, and else only when it is pressed', () => {
    const link = '[here](https://a.example/x)';
    expect(html(link)).not.toContain('href');
    expect(html(link)).toContain('role="link"');
    const given = hostsIn(['see https://a.example/other, please']);
    const live = renderToStaticMarkup(
      <NamedHosts value={given}>
        <Markdown text={`${link} [there](https://b.example)`} />
      </NamedHosts>,
    );
    expect(live.match(/href="[^"]*"/g)).toEqual(['href="https://a.example/x"']);
    expect(live).toContain('rel="noopener noreferrer nofollow"');
  });

  test('prices are no formulas and formulas are', () => {
    expect(lex('It costs $5 and $6.').some((block) => JSON.stringify(block).includes('"math"'))).toBe(false);
    expect(JSON.stringify(lex('So $a+b$ holds.'))).toContain('"math"');
    expect(lex('$$\nx^2\n$$')[0]).toMatchObject({ type: 'math', text: 'x^2', display: true });
  });
});

describe('what must never happen', () => {
  test.each(HOSTILE)('no markup of its own: %s', (text) => {
    const shown = html(text);
    expect(shown).not.toMatch(/<(script|iframe|object|embed|style|svg|form|base|meta|link|details)\b/i);
    expect(shown).not.toMatch(/<[^>]+\son\w+=/i);
    expect(shown).not.toMatch(/(href|src)="\s*(javascript|vbscript|data:text)/i);
    for (const [, src] of shown.matchAll(/<img[^>]+src="([^"]*)"/g)) expect(isInlineImage(src ?? '')).toBe(true);
  });

  test('only http, https and mail are links', () => {
    for (const bad of [
      'javascript:1',
      ' javascript:1',
      'file:///etc/passwd',
      'data:text/html,x',
      '//a.example',
      '/chat',
      'blob:x',
    ]) {
      expect(safeLink(bad), bad).toBeUndefined();
    }
    expect(safeLink('https://a.example:8443/x')).toEqual({ href: 'https://a.example:8443/x', host: 'a.example:8443' });
    expect(safeLink('mailto:a@b.example')?.host).toBe('a@b.example');
  });
});

describe('growing text', () => {
  beforeAll(loadMarkCloser);

  const whole =
    '# One\n\nText with **bold** and\nmore.\n\n- a\n- b\n  - c\n\n```js\nlet x = 1;\n\nx++;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd $x$.';

  test('ends as if it had come at once, wherever it was cut', () => {
    for (const size of [1, 3, 7, 20]) {
      const growing = new GrowingText();
      let blocks = growing.blocks('');
      for (let end = size; end < whole.length + size; end += size) blocks = growing.blocks(whole.slice(0, end));
      expect(blocks.map((block) => block.raw.trim())).toEqual(lex(whole).map((block) => block.raw.trim()));
    }
  });

  test('finished blocks keep their identity', () => {
    const growing = new GrowingText();
    const early = growing.blocks('# One\n\nTwo\n\nThr');
    const late = growing.blocks('# One\n\nTwo\n\nThree\n\nFour');
    expect(late[0]).toBe(early[0]);
    expect(late[1]).toBe(early[1]);
    expect(late).toHaveLength(4);
  });

  test('another text starts anew', () => {
    const growing = new GrowingText();
    growing.blocks('# One\n\nTwo\n\nThree');
    expect(growing.blocks('Other').map((block) => block.raw)).toEqual(['Other']);
  });

  test('half emphasis does not flicker', () => {
    const blocks = new GrowingText().blocks('Say **it lou');
    expect(JSON.stringify(blocks)).toContain('"strong"');
  });
});
