import { useEffect, useRef, useState } from 'react';
import { Download, Pause, Play } from 'lucide-react';
import type { Fault, LogLevel, LogLine } from '@onyx/sdk';
import { faultOf, onyx } from '../../store/client';
import { useStore } from '../../store/state';
import { attempt } from '../../ui/act';
import { save } from '../../ui/download';
import { Select } from '../../ui/form';
import { Empty, ErrorLine, Skeletons } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';

const MOST = 1_000;
const REDRAW_MS = 150;
const AGAIN_MS = 1_000;
const LEVELS: [LogLevel, string][] = [
  ['error', 'Errors'],
  ['warn', 'Warnings'],
  ['info', 'Info'],
  ['debug', 'Debug'],
  ['trace', 'Everything'],
];
/** The levels, from the most severe down to the server's own level. */
const upTo = (level: LogLevel) => LEVELS.slice(0, LEVELS.findIndex(([name]) => name === level) + 1);
const COLORS: Partial<Record<LogLevel, string>> = { error: 'text-danger', warn: 'text-warn' };

/** The server's log, live. */
export default function Logs() {
  const [level, setLevel] = useState<LogLevel>('info');
  const [query, setQuery] = useState('');
  const [paused, setPaused] = useState(false);
  const server = useLoaded('log level', () => onyx.admin.logLevel());
  const logged = server.data;
  /** Without a level, resets to the level of the next start. */
  const setLogged = async (wanted?: LogLevel) => {
    const now = await attempt('The log level was not changed', () => onyx.admin.setLogLevel(wanted));
    if (!now) return;
    server.reload();
    setLevel(now.level);
  };
  const { lines, fault, again } = useLogs(level, query.trim(), paused);
  const list = useRef<HTMLOListElement>(null);
  const following = useRef(true);
  useEffect(() => {
    if (following.current && list.current) list.current.scrollTop = list.current.scrollHeight;
  }, [lines]);
  return (
    <>
      <div className="mb-3 flex flex-wrap gap-2">
        <input
          type="search"
          className="field min-w-48 flex-1 max-sm:basis-full"
          placeholder="Search the log"
          aria-label="Search the log"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
        <Select
          label="Level"
          value={level}
          options={logged ? upTo(logged.level) : LEVELS}
          onChange={(value) => setLevel(value as LogLevel)}
        />
        <button type="button" className="btn h-9" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          {paused ? <Play size={14} aria-hidden /> : <Pause size={14} aria-hidden />} {paused ? 'Resume' : 'Pause'}
        </button>
        <button
          type="button"
          className="btn h-9"
          disabled={!lines?.length}
          onClick={() => save('onyx-log.jsonl', (lines ?? []).map((line) => JSON.stringify(line)).join('\n'))}
        >
          <Download size={14} aria-hidden /> Export
        </button>
      </div>
      {logged && (
        <div className="mb-3 flex flex-wrap items-center gap-2 text-meta text-dim">
          <span>Server log level</span>
          <span className="flex min-w-32">
            <Select
              label="Server log level"
              value={logged.level}
              options={LEVELS}
              onChange={(value) => void setLogged(value as LogLevel)}
            />
          </span>
          {logged.level !== logged.atStart && (
            <>
              <span role="status">until it restarts.</span>
              <button type="button" className="underline underline-offset-3" onClick={() => void setLogged()}>
                Back to {nameOf(logged.atStart)}
              </button>
            </>
          )}
        </div>
      )}
      {fault && <ErrorLine fault={fault} action={{ label: 'Retry', run: again }} />}
      {lines === undefined && !fault && <Skeletons rows={8} height="h-6" />}
      {lines?.length === 0 && !fault && (
        <Empty>Nothing was logged at this level{query ? ' with these words' : ''}.</Empty>
      )}
      {lines && lines.length > 0 && (
        <ol
          ref={list}
          tabIndex={0}
          aria-label="Log"
          className="card h-[62vh] overflow-auto py-2 font-mono text-[12px] leading-[18px]"
          onScroll={({ currentTarget: at }) =>
            (following.current = at.scrollHeight - at.scrollTop - at.clientHeight < 40)
          }
        >
          {lines.map((line) => (
            <LogRow key={line.seq} line={line} />
          ))}
        </ol>
      )}
    </>
  );
}

const nameOf = (level: LogLevel) => LEVELS.find(([name]) => name === level)?.[1] ?? level;

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

/** The live feed, resumed where it broke off; a paused feed stays unchanged. */
function useLogs(level: LogLevel, q: string, paused: boolean): { lines?: LogLine[]; fault?: Fault; again: () => void } {
  const online = useStore((state) => state.link === 'online');
  const [lines, setLines] = useState<LogLine[]>();
  const [fault, setFault] = useState<Fault>();
  const [round, setRound] = useState(0);
  const last = useRef(0);
  useEffect(() => {
    last.current = 0;
    setLines(undefined);
  }, [level, q]);
  useEffect(() => {
    if (!online || paused) return;
    const abort = new AbortController();
    const fresh: LogLine[] = [];
    let open = false;
    const draw = () => {
      const batch = fresh.splice(0);
      if (open) setLines((known) => (batch.length === 0 && known ? known : [...(known ?? []), ...batch].slice(-MOST)));
    };
    const timer = setInterval(draw, REDRAW_MS);
    const read = async () => {
      while (!abort.signal.aborted) {
        try {
          for await (const line of onyx.admin.logs(
            { level, q, after: last.current, limit: MOST },
            { signal: abort.signal, opened: () => (open = true) },
          )) {
            last.current = line.seq;
            fresh.push(line);
          }
        } catch (error) {
          if (abort.signal.aborted) return;
          const why = faultOf(error);
          if (why.code !== 'offline') return setFault(why);
        }
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    };
    const begun = setTimeout(() => (setFault(undefined), void read()), q ? 200 : 0);
    return () => {
      clearTimeout(begun);
      clearInterval(timer);
      draw();
      abort.abort();
    };
  }, [level, q, paused, online, round]);
  return { lines, fault, again: () => setRound(round + 1) };
}
