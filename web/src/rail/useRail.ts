import { useSyncExternalStore } from 'react';
import { create } from 'zustand';
import { writeStored, readStored } from '../store/browserStorage';
import { modeOf, USUAL, widthWithin, type RailMode } from './layout';

interface RailState {
  width: number;
  /** Whether the rail is open beside the page on a wide screen; remembered. */
  beside: boolean;
  /** Whether the rail is open over the page on a narrow screen; not remembered. */
  over: boolean;
}

/** The hash of an address that opens the companion. */
export const COMPANION = 'companion';

const KEY = 'onyx.rail';
const kept = readStored<{ width?: number; beside?: boolean }>(KEY, {});

export const useRailState = create<RailState>(() => ({
  width: widthWithin(kept.width ?? USUAL),
  beside: kept.beside !== false,
  over: false,
}));

useRailState.subscribe(({ width, beside }) => writeStored(KEY, { width, beside }));

export function setRailWidth(width: number): void {
  useRailState.setState({ width: widthWithin(width) });
}

/** Opens or closes the rail in the way that fits the screen. */
export function setRailOpen(open: boolean): void {
  useRailState.setState(modeOf(innerWidth) === 'beside' ? { beside: open } : { over: open });
}

function onResize(changed: () => void): () => void {
  addEventListener('resize', changed);
  return () => removeEventListener('resize', changed);
}

export function useRail(): { mode: RailMode; open: boolean; width: number } {
  const mode = useSyncExternalStore(onResize, () => modeOf(innerWidth));
  const { width, beside, over } = useRailState();
  return { mode, open: mode === 'beside' ? beside : over, width };
}
