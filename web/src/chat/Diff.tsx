// A unified diff, line by line.

const KINDS: [RegExp, string][] = [
  [/^(\+\+\+|---) /, 'hidden'],
  [/^@@/, 'hunk'],
  [/^\+/, 'add'],
  [/^-/, 'del'],
];
const kindOf = (line: string) => KINDS.find(([start]) => start.test(line))?.[1];

export function Diff({ unified, label }: { unified: string; label: string }) {
  return (
    <div className="diff border-t border-line" tabIndex={0} role="group" aria-label={label}>
      {unified
        .replace(/\n$/, '')
        .split('\n')
        .map((line, index) => (
          <div key={index} className={kindOf(line)}>
            {line || ' '}
          </div>
        ))}
    </div>
  );
}
