import { useEffect, useLayoutEffect, useRef, useState } from 'react';

/** The line height of the style sheet. */
const LINE = 20;
const ABOVE = 4;

/** Plain text with line numbers. Lines do not wrap, so that a number stays beside its line. */
export function Editor({
  label,
  text,
  onChange,
  line,
  lastLine,
  readOnly = false,
}: {
  label: string;
  text: string;
  onChange?: (text: string) => void;
  /** The first and the last line to highlight. */
  line?: number;
  lastLine?: number;
  readOnly?: boolean;
}) {
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const lines = text.split('\n').length;
  useLayoutEffect(() => {
    if (line === undefined || !area.current) return;
    area.current.scrollTop = Math.max(0, (line - 1 - ABOVE) * LINE);
  }, [line]);
  useEffect(() => {
    if (gutter.current) gutter.current.scrollTop = top;
  }, [top, lines]);
  return (
    <div className="editor">
      <div ref={gutter} className="gutter" aria-hidden>
        {Array.from({ length: lines }, (_, index) => index + 1).join('\n')}
      </div>
      {line !== undefined && (
        <div
          className="marked"
          style={{ top: 12 + (line - 1) * LINE - top, height: ((lastLine ?? line) - line + 1) * LINE }}
          aria-hidden
        />
      )}
      <textarea
        ref={area}
        aria-label={label}
        value={text}
        readOnly={readOnly}
        spellCheck={false}
        wrap="off"
        dir="auto"
        onChange={(event) => onChange?.(event.target.value)}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      />
    </div>
  );
}
