// The editor's output panel as a state machine. Pure: what happens goes in with its time, what to show comes out.

/** How long an answer that needs nobody stays after its end. */
export const STAYS_MS = 5_000;

/** What keeps the panel while it lasts: somebody is at it, or nobody can see it. */
export type Hold = 'hover' | 'focus' | 'selection' | 'hidden tab';

export interface Panel {
  phase: 'hidden' | 'visible' | 'pinned';
  /** An answer is being written. */
  writing: boolean;
  /** An error or an approval that waits: such a panel never goes by itself. */
  attention: boolean;
  holds: readonly Hold[];
  /** How long it stays yet once nothing holds it. */
  left: number;
  /** When it goes; absent while the clock stands. */
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
      // Who has pinned it keeps it pinned.
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

/** New output is worth the whole time again. */
const fresh = (panel: Panel): Panel => ({ ...panel, left: STAYS_MS, goesAt: undefined });

/** Whatever held it was at the panel, but for the tab, which is hidden with or without one. */
const hidden = (panel: Panel): Panel => ({
  ...fresh(panel),
  phase: 'hidden',
  holds: panel.holds.filter((by) => by === 'hidden tab'),
});

/** The clock runs only while a visible panel is done, needs nobody and is held by nothing. */
function timed(before: Panel, after: Panel, now: number): Panel {
  const runs = after.phase === 'visible' && !after.writing && !after.attention && after.holds.length === 0;
  if (runs) return after.goesAt === undefined ? { ...after, goesAt: now + after.left } : after;
  if (after.goesAt === undefined) return after;
  return { ...after, left: Math.max(0, (before.goesAt ?? now) - now), goesAt: undefined };
}
