import { useEffect, useRef, useState } from 'react';
import type { Fault, LogLevel, LogLine } from '@onyx/sdk';
import { faultOf, onyx } from '../../store/client';
import { useStore } from '../../store/state';

/** The most lines that are kept; older ones are dropped. */
const MOST = 1_000;
const REDRAW_MS = 150;
const AGAIN_MS = 1_000;

interface LogFeed {
  lines?: LogLine[];
  fault?: Fault;
  again: () => void;
}

/** The live feed, resumed where it broke off; a paused feed stays unchanged. */
export function useLogs(level: LogLevel, q: string, paused: boolean): LogFeed {
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
