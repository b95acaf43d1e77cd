import { memo, useMemo, useRef } from 'react';
import type { Token } from 'marked';
import { Block } from './blocks';
import { GrowingText, lex } from './lex';

/** Markdown as React nodes; nothing in it ever becomes HTML. */
export const Markdown = memo(function Markdown({ text, growing = false }: { text: string; growing?: boolean }) {
  const grower = useRef<GrowingText>(null);
  const blocks = useMemo<Token[]>(() => {
    if (!growing && !grower.current) return lex(text);
    grower.current ??= new GrowingText();
    return grower.current.blocks(text);
  }, [text, growing]);
  return (
    <div className="prose">
      {blocks.map((token, index) => (
        <Block key={index} token={token} live={growing && index === blocks.length - 1} />
      ))}
    </div>
  );
});
