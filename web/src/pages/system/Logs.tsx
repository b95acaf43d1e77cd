import { useRef, useState } from 'react';
import { Download, Pause, Play } from 'lucide-react';
import type { LogLevel, LogLevels } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { save } from '../../ui/download';
import { Select } from '../../ui/form';
import { Empty, ErrorLine, Skeletons } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { LogList } from './LogList';
import { useLogs } from './useLogs';

const LEVELS: [LogLevel, string][] = [
  ['error', 'Errors'],
  ['warn', 'Warnings'],
  ['info', 'Info'],
  ['debug', 'Debug'],
  ['trace', 'Everything'],
];
/** The levels, from the most severe down to the server's own level. */
const upTo = (level: LogLevel) => LEVELS.slice(0, LEVELS.findIndex(([name]) => name === level) + 1);
const nameOf = (level: LogLevel) => LEVELS.find(([name]) => name === level)?.[1] ?? level;

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
  const following = useRef(true);
  const exportLines = () => save('onyx-log.jsonl', (lines ?? []).map((line) => JSON.stringify(line)).join('\n'));
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
        <button type="button" className="btn h-9" disabled={!lines?.length} onClick={exportLines}>
          <Download size={14} aria-hidden /> Export
        </button>
      </div>
      {logged && <ServerLevel logged={logged} onLevel={(wanted) => void setLogged(wanted)} />}
      {fault && <ErrorLine fault={fault} action={{ label: 'Retry', run: again }} />}
      {lines === undefined && !fault && <Skeletons rows={8} height="h-6" />}
      {lines?.length === 0 && !fault && (
        <Empty>Nothing was logged at this level{query ? ' with these words' : ''}.</Empty>
      )}
      {lines && lines.length > 0 && <LogList lines={lines} following={following} />}
    </>
  );
}

interface ServerLevelProps {
  logged: LogLevels;
  /** Without a level, it is reset to the one of the next start. */
  onLevel: (level?: LogLevel) => void;
}

/** What the server logs at all, until it restarts. */
function ServerLevel({ logged, onLevel }: ServerLevelProps) {
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2 text-meta text-dim">
      <span>Server log level</span>
      <span className="flex min-w-32">
        <Select
          label="Server log level"
          value={logged.level}
          options={LEVELS}
          onChange={(value) => onLevel(value as LogLevel)}
        />
      </span>
      {logged.level !== logged.atStart && (
        <>
          <span role="status">until it restarts.</span>
          <button type="button" className="underline underline-offset-3" onClick={() => onLevel()}>
            Back to {nameOf(logged.atStart)}
          </button>
        </>
      )}
    </div>
  );
}
