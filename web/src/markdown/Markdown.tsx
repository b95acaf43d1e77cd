import { memo, useMemo, useRef } from 'react';
import type { Token } from 'marked';
import { Block } from './blocks';
import { visible } from '../ui/visible';
import { GrowingText, lex } from './lex';

/** Markdown as React nodes; nothing in it ever becomes HTML. */
export const Markdown = memo(function Markdown({ text, growing = false }: { text: string; growing?: boolean }) {
  const grower = useRef<GrowingText>(null);
  const blocks = useMemo<Token[]>(() => {
    const shown = visible(text);
    if (!growing && !grower.current) return lex(shown);
    grower.current ??= new GrowingText();
    return grower.current.blocks(shown);
  }, [text, growing]);
  return (
    <div className="prose">
      {blocks.map((token, index) => (
        <Block key={index} token={token} live={growing && index === blocks.length - 1} />
      ))}
    </div>
  );
});
