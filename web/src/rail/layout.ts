// How wide the rail is and where it stands. Pure.

export const NARROWEST = 280;
export const WIDEST = 560;
export const USUAL = 360;
/** What an arrow key moves its edge by. */
const STEP = 16;

/** Beside the page, over it, or as a sheet in its place. */
export type RailMode = 'beside' | 'over' | 'sheet';

export function modeOf(windowWidth: number): RailMode {
  return windowWidth >= 1280 ? 'beside' : windowWidth >= 768 ? 'over' : 'sheet';
}

/** Whole pixels within the bounds; what is no width is the usual one. */
export function widthWithin(width: unknown): number {
  if (typeof width !== 'number' || !Number.isFinite(width)) return USUAL;
  return Math.round(Math.min(WIDEST, Math.max(NARROWEST, width)));
}

/** The edge is the rail's left one: what moves it left makes the rail wider. */
export function widthByKey(key: string, width: number): number | undefined {
  const next = { ArrowLeft: width + STEP, ArrowRight: width - STEP, Home: NARROWEST, End: WIDEST, Enter: USUAL }[key];
  return next === undefined ? undefined : widthWithin(next);
}
