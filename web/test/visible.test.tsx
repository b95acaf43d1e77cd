import { readFileSync } from 'node:fs';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { Markdown } from '../src/markdown/Markdown';
import { visible } from '../src/ui/visible';

interface Case {
  text: string;
  shown: string;
}

const CASES = JSON.parse(
  readFileSync(new URL('../../crates/types/tests/visible.json', import.meta.url), 'utf8'),
) as Case[];

test('what deceives is written out as the server writes it out, and twice is as once', () => {
  expect(CASES.map(({ text }) => visible(text))).toEqual(CASES.map(({ shown }) => shown));
  expect(CASES.map(({ text }) => visible(visible(text)))).toEqual(CASES.map(({ shown }) => shown));
});

const Inner = ({ children }: { children: string }) => <em>{children}</em>;

test('every string between two tags and in what attributes say is shown so', () => {
  const hostile = 'rm\u202eslx\u200b';
  const written = 'rm\\u{202e}slx\\u{200b}';
  const shown = renderToStaticMarkup(
    <p title={hostile} aria-label={hostile}>
      {hostile} and {[hostile, 'more']} <Inner>{hostile}</Inner>
      <input defaultValue={hostile} placeholder={hostile} />
    </p>,
  );
  expect(shown.replace('value="rm\u202eslx\u200b"', 'value')).not.toMatch(/[\u202e\u200b]/);
  expect(shown.split(written)).toHaveLength(7);
  expect(shown).toContain(`value="${hostile}"`);
});

test('so is every part of an answer', () => {
  const text = 'a\u202eb **c\u200bd** `e\u2066f`\n\n```sh\nrm\u202e\n```\n\n| g\u200bh |\n|---|\n| i\u202ej |';
  expect(renderToStaticMarkup(<Markdown text={text} />)).not.toMatch(/[\u202e\u200b\u2066]/);
});
