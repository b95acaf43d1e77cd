import { useEffect, useRef, type RefObject } from 'react';
import type { LogLevel, LogLine } from '@onyx/sdk';

const COLORS: Partial<Record<LogLevel, string>> = { error: 'text-danger', warn: 'text-warn' };

interface LogListProps {
  lines: LogLine[];
  /** Whether the end stays in view. It outlives the list, which is drawn anew for another level. */
  following: RefObject<boolean>;
}

/** Lines of the log, the newest last. The end stays in view until the person scrolls up. */
export function LogList({ lines, following }: LogListProps) {
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    if (following.current && list.current) list.current.scrollTop = list.current.scrollHeight;
  }, [lines]);
  return (
    <ol
      ref={list}
      tabIndex={0}
      aria-label="Log"
      className="card h-[62vh] overflow-auto py-2 font-mono text-[12px] leading-[18px]"
      onScroll={({ currentTarget: at }) => (following.current = at.scrollHeight - at.scrollTop - at.clientHeight < 40)}
    >
      {lines.map((line) => (
        <LogRow key={line.seq} line={line} />
      ))}
    </ol>
  );
}

function LogRow({ line }: { line: LogLine }) {
  const details = Object.entries(line.fields ?? {});
  return (
    <li className="flex gap-3 px-3 hover:bg-sunken max-md:flex-wrap max-md:gap-x-2 max-md:gap-y-0 max-md:py-1">
      <time className="shrink-0 text-dim" dateTime={line.ts}>
        {new Date(line.ts).toLocaleTimeString(undefined, { hour12: false })}
      </time>
      <span className={`w-10 shrink-0 ${COLORS[line.level] ?? 'text-dim'}`}>{line.level}</span>
      <span className="min-w-0 flex-1 whitespace-pre-wrap [overflow-wrap:anywhere] max-md:basis-full">
        {line.message}
        {details.length > 0 && (
          <span className="text-dim">
            {' '}
            {details
              .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
              .join(' ')}
          </span>
        )}
      </span>
      <span className="shrink-0 text-dim max-lg:hidden">{line.target}</span>
    </li>
  );
}
