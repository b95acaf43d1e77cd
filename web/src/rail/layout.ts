// The width and the placement of the rail. Pure.

export const NARROWEST = 280;
export const WIDEST = 560;
export const USUAL = 360;
/** The step of an arrow key at the edge. */
const STEP = 16;

/** Where the rail is: beside the page, over it, or as a sheet instead of it. */
export type RailMode = 'beside' | 'over' | 'sheet';

export function modeOf(windowWidth: number): RailMode {
  return windowWidth >= 1280 ? 'beside' : windowWidth >= 768 ? 'over' : 'sheet';
}

/** A width in whole pixels within the bounds; the default width for an invalid value. */
export function widthWithin(width: unknown): number {
  if (typeof width !== 'number' || !Number.isFinite(width)) return USUAL;
  return Math.round(Math.min(WIDEST, Math.max(NARROWEST, width)));
}

/** The edge is on the left of the rail, so moving it left makes the rail wider. */
export function widthByKey(key: string, width: number): number | undefined {
  const next = { ArrowLeft: width + STEP, ArrowRight: width - STEP, Home: NARROWEST, End: WIDEST, Enter: USUAL }[key];
  return next === undefined ? undefined : widthWithin(next);
}
