import { lazy, memo, Suspense, type ReactNode } from 'react';
import type { Token, Tokens } from 'marked';
import { CodeBlock } from './CodeBlock';
import { Inline } from './inline';
import type { FootnoteToken, MathToken } from './lex';

const Formula = lazy(() => import('./Formula'));
const Diagram = lazy(() => import('./Diagram'));

/** One block. A finished block keeps its token, so it is drawn only once while the text grows. */
export const Block = memo(function Block({ token, live = false }: { token: Token; live?: boolean }): ReactNode {
  switch (token.type) {
    case 'paragraph':
      return (
        <p dir="auto">
          <Inline tokens={token.tokens} />
        </p>
      );
    case 'heading':
      return <Heading token={token as Tokens.Heading} />;
    case 'code':
      return <Code token={token as Tokens.Code} live={live} />;
    case 'list':
      return <List token={token as Tokens.List} />;
    case 'blockquote':
      return (
        <blockquote dir="auto">
          <Blocks tokens={token.tokens} />
        </blockquote>
      );
    case 'table':
      return <Table token={token as Tokens.Table} />;
    case 'hr':
      return <hr />;
    case 'math':
      return <Maths token={token as MathToken} />;
    case 'footnote': {
      const { label, tokens } = token as FootnoteToken;
      return (
        <p dir="auto" className="footnote" data-footnote={label} tabIndex={-1}>
          <sup>{label}</sup> <Inline tokens={tokens} />
        </p>
      );
    }
    case 'text':
      return token.tokens ? <Inline tokens={token.tokens} /> : token.text;
    case 'space':
    case 'def':
      return null;
    default:
      // Raw HTML, and tokens that a newer lexer may add, are shown as written.
      return (
        <p dir="auto" className="whitespace-pre-wrap">
          {token.raw.trimEnd()}
        </p>
      );
  }
});

export function Blocks({ tokens = [] }: { tokens?: Token[] }) {
  return tokens.map((token, index) => <Block key={index} token={token} />);
}

/** Headings start one level below the speaker's name and skip no level, even if the model's text does. */
function Heading({ token }: { token: Tokens.Heading }) {
  return (
    <h3 dir="auto" data-depth={token.depth}>
      <Inline tokens={token.tokens} />
    </h3>
  );
}

function Code({ token, live }: { token: Tokens.Code; live: boolean }) {
  const language = token.lang?.split(/\s/)[0]?.toLowerCase() ?? '';
  const source = <CodeBlock code={token.text} language={language} live={live} />;
  if (language !== 'mermaid' || live) return source;
  return (
    <Suspense fallback={source}>
      <Diagram code={token.text} />
    </Suspense>
  );
}

function Maths({ token }: { token: MathToken }) {
  return (
    <Suspense fallback={<code>{token.text}</code>}>
      <Formula tex={token.text} display={token.display} />
    </Suspense>
  );
}

function List({ token }: { token: Tokens.List }) {
  const items = token.items.map((item, index) => (
    <li key={index} dir="auto" className={item.task ? 'task' : undefined}>
      {item.task && (
        <input type="checkbox" checked={item.checked} readOnly disabled aria-label={item.checked ? 'done' : 'open'} />
      )}
      <Blocks tokens={item.tokens.filter((inner) => inner.type !== 'checkbox')} />
    </li>
  ));
  return token.ordered ? <ol start={token.start === '' ? undefined : token.start}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ token }: { token: Tokens.Table }) {
  const align = (index: number) => {
    const side = token.align[index];
    // Right-aligned cells hold numbers, which must not wrap.
    return side ? { textAlign: side, whiteSpace: side === 'right' ? ('nowrap' as const) : undefined } : undefined;
  };
  return (
    <div className="table-wrap" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>
            {token.header.map((cell, index) => (
              <th key={index} dir="auto" style={align(index)}>
                <Inline tokens={cell.tokens} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, rowIndex) => (
            <tr key={rowIndex}>
              {row.map((cell, index) => (
                <td key={index} dir="auto" style={align(index)}>
                  <Inline tokens={cell.tokens} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
