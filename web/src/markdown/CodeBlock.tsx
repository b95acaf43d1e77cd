import { lazy, Suspense, useEffect, useState } from 'react';
import type { ThemedToken } from 'shiki/core';
import { Check, Copy, PanelRight } from 'lucide-react';
import { copy } from '../ui/copy';

const ArtifactPanel = lazy(() => import('../panel/ArtifactPanel'));

const NAMES: Record<string, string> = {
  js: 'javascript',
  ts: 'typescript',
  py: 'python',
  sh: 'shell',
  rs: 'rust',
  yml: 'yaml',
};

/** Code with a copy button; highlighted once it is complete. */
export function CodeBlock({
  code,
  language,
  live = false,
  inPanel = false,
}: {
  code: string;
  language: string;
  live?: boolean;
  /** The panel already shows this code. */
  inPanel?: boolean;
}) {
  const lines = useHighlighted(code, language, live);
  const [open, setOpen] = useState(false);
  return (
    <figure className="code">
      <figcaption>
        <span>{NAMES[language] ?? (language || 'text')}</span>
        <span className="flex">
          {!live && !inPanel && (
            <button type="button" aria-label="Open in a panel" title="Open in a panel" onClick={() => setOpen(true)}>
              <PanelRight size={14} aria-hidden />
            </button>
          )}
          <CopyButton text={code} />
        </span>
        {open && (
          <Suspense fallback={null}>
            <ArtifactPanel code={code} language={language} onClose={() => setOpen(false)} />
          </Suspense>
        )}
      </figcaption>
      <pre tabIndex={0}>
        <code>
          {lines
            ? lines.map((line, index) => (
                <span key={index}>
                  {line.map((token, at) => (
                    <span key={at} style={{ color: token.color }}>
                      {token.content}
                    </span>
                  ))}
                  {'\n'}
                </span>
              ))
            : code}
        </code>
      </pre>
    </figure>
  );
}

function CopyButton({ text }: { text: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  return (
    <button
      type="button"
      onClick={() => void copy(text, 'Code copied').then(() => setDone(true))}
      aria-label="Copy code"
    >
      {done ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
    </button>
  );
}

/** Longer code is not highlighted, because that would block the page. */
const LONGEST = 60_000;

function useHighlighted(code: string, language: string, live: boolean): ThemedToken[][] | undefined {
  const [lines, setLines] = useState<{ code: string; tokens: ThemedToken[][] }>();
  useEffect(() => {
    if (live || !language || code.length > LONGEST) return;
    let current = true;
    void import('./highlight')
      .then(({ highlight }) => highlight(code, language))
      .then((tokens) => current && tokens && setLines({ code, tokens }));
    return () => {
      current = false;
    };
  }, [code, language, live]);
  return lines?.code === code ? lines.tokens : undefined;
}
