import { useCallback, useEffect, useRef, useState } from 'react';
import type { Fault } from '@onyx/sdk';
import { faultOf } from '../store/client';
import { useStore } from '../store/state';

export interface Loaded<T> {
  /** The newest answer; it stays while another one is loaded. */
  data?: T;
  fault?: Fault;
  /** True until the first answer or failure. */
  loading: boolean;
  reload: () => void;
}

/** Loads data when `key` changes and when the connection is back; without a key it loads nothing. */
export function useLoaded<T>(key: string | undefined, load: () => Promise<T>): Loaded<T> {
  const online = useStore((state) => state.link === 'online');
  const [round, setRound] = useState(0);
  const [known, setKnown] = useState<{ key?: string; data?: T; fault?: Fault }>({});
  const newest = useRef(load);
  newest.current = load;
  useEffect(() => {
    if (key === undefined || !online) return;
    let current = true;
    newest.current().then(
      (data) => current && setKnown({ key, data }),
      (error: unknown) =>
        current &&
        setKnown((before) => ({ key, data: before.key === key ? before.data : undefined, fault: faultOf(error) })),
    );
    return () => {
      current = false;
    };
  }, [key, online, round]);
  const reload = useCallback(() => setRound((count) => count + 1), []);
  const fits = known.key === key;
  const data = fits ? known.data : undefined;
  const fault = fits ? known.fault : undefined;
  return { data, fault, loading: data === undefined && fault === undefined, reload };
}
