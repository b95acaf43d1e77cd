import type { DiffLine } from '@onyx/sdk';

const KINDS: Record<DiffLine['kind'], { mark: string; tone?: string }> = {
  file: { mark: '', tone: 'hidden' },
  hunk: { mark: '', tone: 'hunk' },
  same: { mark: ' ' },
  added: { mark: '+', tone: 'add' },
  removed: { mark: '-', tone: 'del' },
  note: { mark: '' },
};

/** The lines of a change. */
export function Diff({ lines, label }: { lines: DiffLine[]; label: string }) {
  return (
    <div className="diff border-t border-line" tabIndex={0} role="group" aria-label={label}>
      {lines.map(({ kind, text }, index) => (
        <div key={index} className={KINDS[kind].tone}>
          {KINDS[kind].mark + text || ' '}
        </div>
      ))}
    </div>
  );
}
