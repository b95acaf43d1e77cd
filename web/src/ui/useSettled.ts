import { useEffect, useState } from 'react';

const SETTLED_MS = 180;

/** The value once it has not changed for a moment, so that not every key press asks the server. */
export function useSettled<T>(value: T, ms = SETTLED_MS): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
