// The editor's output panel as a state machine: events with their time in, what to show out. Pure.

/** How long an answer without a pending decision stays after its end. */
export const STAYS_MS = 5_000;

/** What keeps the panel open: the person is using it, or the tab is hidden. */
export type Hold = 'hover' | 'focus' | 'selection' | 'hidden tab';

export interface Panel {
  phase: 'hidden' | 'visible' | 'pinned';
  /** An answer is being written. */
  writing: boolean;
  /** An error or a pending approval; the panel then never closes automatically. */
  attention: boolean;
  holds: readonly Hold[];
  /** The remaining time once nothing holds the panel open. */
  left: number;
  /** When the panel closes; absent while the clock is stopped. */
  goesAt?: number;
}

export type Happened =
  | { type: 'sent' }
  | { type: 'output' }
  | { type: 'ended' }
  | { type: 'attention'; needed: boolean }
  | { type: 'hold'; by: Hold }
  | { type: 'release'; by: Hold }
  | { type: 'click' | 'key p' | 'show output' | 'dismiss' | 'escape' | 'click away' | 'clear' }
  | { type: 'time' };

export const HIDDEN: Panel = { phase: 'hidden', writing: false, attention: false, holds: [], left: STAYS_MS };

export function step(panel: Panel, happened: Happened, now: number): Panel {
  return timed(panel, next(panel, happened, now), now);
}

function next(panel: Panel, happened: Happened, now: number): Panel {
  switch (happened.type) {
    case 'sent':
      // A pinned panel stays pinned.
      return {
        ...fresh(panel),
        phase: panel.phase === 'pinned' ? 'pinned' : 'visible',
        writing: true,
        attention: false,
      };
    case 'output':
      return { ...fresh(panel), writing: true };
    case 'ended':
      return panel.writing ? { ...fresh(panel), writing: false } : panel;
    case 'attention':
      return panel.attention === happened.needed ? panel : { ...fresh(panel), attention: happened.needed };
    case 'hold':
      return panel.holds.includes(happened.by) ? panel : { ...panel, holds: [...panel.holds, happened.by] };
    case 'release':
      return panel.holds.includes(happened.by)
        ? { ...panel, holds: panel.holds.filter((by) => by !== happened.by) }
        : panel;
    case 'click':
    case 'key p':
      return panel.phase === 'visible' ? { ...panel, phase: 'pinned' } : panel;
    case 'show output':
      return panel.phase === 'hidden' ? { ...panel, phase: 'pinned' } : panel;
    case 'dismiss':
    case 'escape':
      return hidden(panel);
    case 'click away':
      return panel.phase === 'pinned' ? hidden(panel) : panel;
    case 'clear':
      return { ...hidden(panel), writing: false, attention: false };
    case 'time':
      return panel.goesAt !== undefined && now >= panel.goesAt ? hidden(panel) : panel;
  }
}

/** New output restarts the full time. */
const fresh = (panel: Panel): Panel => ({ ...panel, left: STAYS_MS, goesAt: undefined });

/** Clears all holds except the hidden tab, which does not depend on the panel. */
const hidden = (panel: Panel): Panel => ({
  ...fresh(panel),
  phase: 'hidden',
  holds: panel.holds.filter((by) => by === 'hidden tab'),
});

/** The clock runs only while the panel is visible, done, without a pending decision and not held open. */
function timed(before: Panel, after: Panel, now: number): Panel {
  const runs = after.phase === 'visible' && !after.writing && !after.attention && after.holds.length === 0;
  if (runs) return after.goesAt === undefined ? { ...after, goesAt: now + after.left } : after;
  if (after.goesAt === undefined) return after;
  return { ...after, left: Math.max(0, (before.goesAt ?? now) - now), goesAt: undefined };
}
