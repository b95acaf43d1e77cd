import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { Citations } from '../src/markdown/citations';
import { Markdown } from '../src/markdown/Markdown';

const PIECES = [{ source: 'vault/notes/cabin.md', startLine: 12, endLine: 40 }];
const html = (text: string) =>
  renderToStaticMarkup(
    <Citations value={PIECES}>
      <Markdown text={text} />
    </Citations>,
  );

test('a number leads to the source it stands for, at the line', () => {
  expect(html('It closes at noon [1].')).toContain(
    'href="/memory?path=vault%2Fnotes%2Fcabin.md&amp;line=12&amp;last=40"',
  );
  expect(html('As in [2].')).not.toContain('<a');
});

test('a path with lines leads there too, in words and in code', () => {
  for (const text of ['See notes/cabin.md:3-5.', 'See `notes/cabin.md:3-5`.', 'See (notes/cabin.md:3–5)']) {
    expect(html(text)).toContain('href="/memory?cited=notes%2Fcabin.md&amp;line=3&amp;last=5"');
  }
  expect(html('日記/山小屋.md:7')).toContain(`cited=${encodeURIComponent('日記/山小屋.md')}&amp;line=7&amp;last=7`);
});

test('addresses, times and hostile paths are left as they are', () => {
  for (const text of ['https://evil.example/x.md:3', 'at 12:30', 'javascript:alert.md:1', '../../etc/passwd:1']) {
    expect(html(text)).not.toContain('data-inside');
  }
});

test('within a link there is no second link', () => {
  expect(html('[see notes/a.md:3](https://a.example)')).not.toContain('<a ');
});
