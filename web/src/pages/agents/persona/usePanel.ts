import { useCallback, useEffect, useReducer, useRef, type RefObject } from 'react';
import { HIDDEN, step, type Happened, type Hold, type Panel } from './panel';

interface Watched {
  /** The output panel itself. */
  panel: RefObject<HTMLElement | null>;
  /** Elements that belong to the panel: a click on them does not close it. */
  composer: RefObject<HTMLElement | null>;
  writing: boolean;
  attention: boolean;
}

/** Runs the panel's state machine with the page's clock and events. */
export function usePanel({ panel, composer, writing, attention }: Watched): [Panel, (happened: Happened) => void] {
  const [state, dispatch] = useReducer(
    (before: Panel, { happened, now }: { happened: Happened; now: number }) => step(before, happened, now),
    HIDDEN,
  );
  const tell = useCallback((happened: Happened) => dispatch({ happened, now: Date.now() }), []);
  const shown = state.phase !== 'hidden';

  const { goesAt } = state;
  useEffect(() => {
    if (goesAt === undefined) return;
    const timer = setTimeout(() => tell({ type: 'time' }), Math.max(0, goesAt - Date.now()));
    return () => clearTimeout(timer);
  }, [goesAt, tell]);

  const wrote = useRef(false);
  useEffect(() => {
    if (writing) tell({ type: 'output' });
    else if (wrote.current) tell({ type: 'ended' });
    wrote.current = writing;
  }, [writing, tell]);
  useEffect(() => tell({ type: 'attention', needed: attention }), [attention, tell]);

  useEffect(() => {
    const onVisibility = () => tell({ type: document.hidden ? 'hold' : 'release', by: 'hidden tab' });
    onVisibility();
    document.addEventListener('visibilitychange', onVisibility);
    return () => document.removeEventListener('visibilitychange', onVisibility);
  }, [tell]);

  useEffect(() => (shown ? watchPanel(panel, composer, tell) : undefined), [shown, panel, composer, tell]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      // An open menu or dialog handles Esc itself.
      if (event.defaultPrevented || document.querySelector('dialog[open]')) return;
      if (event.key === 'Escape') tell({ type: 'escape' });
      const plain = !event.metaKey && !event.ctrlKey && !event.altKey && !isWriting(event.target);
      if (event.key.toLowerCase() === 'p' && plain) tell({ type: 'key p' });
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [tell]);
  return [state, tell];
}

function watchPanel(
  panel: Watched['panel'],
  composer: Watched['composer'],
  tell: (happened: Happened) => void,
): (() => void) | undefined {
  const element = panel.current;
  if (!element) return undefined;
  const held = (by: Hold, on: boolean) => tell({ type: on ? 'hold' : 'release', by });
  const stop = new AbortController();
  const { signal } = stop;
  element.addEventListener('pointerenter', () => held('hover', true), { signal });
  element.addEventListener('pointerleave', () => held('hover', false), { signal });
  element.addEventListener('focusin', () => held('focus', true), { signal });
  element.addEventListener('focusout', (event) => held('focus', element.contains(event.relatedTarget as Node | null)), {
    signal,
  });
  const onSelection = () => {
    const selection = getSelection();
    held('selection', selection !== null && !selection.isCollapsed && element.contains(selection.anchorNode));
  };
  document.addEventListener('selectionchange', onSelection, { signal });
  const onPointer = (event: PointerEvent) => {
    const target = event.target as Element;
    const own =
      element.contains(target) ||
      composer.current?.contains(target) ||
      target.closest('dialog, [role=menu], [aria-label=Notices]');
    if (!own) tell({ type: 'click away' });
  };
  document.addEventListener('pointerdown', onPointer, { signal });
  return () => stop.abort();
}

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
