import { useRef, type KeyboardEvent, type PointerEvent } from 'react';
import { NARROWEST, USUAL, WIDEST, widthByKey } from './layout';
import { setRailWidth } from './useRail';

/** The rail's left edge, moved by dragging or arrow keys; a double click resets the width. */
export function Edge({ width }: { width: number }) {
  const from = useRef<{ x: number; width: number }>(undefined);
  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    from.current = { x: event.clientX, width };
  };
  const onPointerMove = (event: PointerEvent) => {
    if (from.current) setRailWidth(from.current.width + from.current.x - event.clientX);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = widthByKey(event.key, width);
    if (next === undefined) return;
    event.preventDefault();
    setRailWidth(next);
  };
  return (
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the companion"
      aria-valuemin={NARROWEST}
      aria-valuemax={WIDEST}
      aria-valuenow={width}
      tabIndex={0}
      title="Drag to resize, double-click to reset"
      className="absolute inset-y-0 -left-1 z-10 w-2 cursor-col-resize touch-none select-none after:absolute after:inset-y-0 after:left-1 after:w-px after:transition-colors hover:after:bg-accent focus-visible:after:bg-accent active:after:bg-accent"
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={() => (from.current = undefined)}
      onPointerCancel={() => (from.current = undefined)}
      onDoubleClick={() => setRailWidth(USUAL)}
      onKeyDown={onKeyDown}
    />
  );
}
