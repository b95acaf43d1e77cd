import type { KeyboardEvent as ReactKeyboardEvent } from 'react';

/** Is somebody typing there? Single-letter shortcuts must not take letters away from a field. */
export function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  // The editor of pages stands in a shadow root, from which events seem to come from its host.
  const inner = target.shadowRoot?.activeElement;
  if (inner) return isWriting(inner);
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Enter sends, unless it ends a composition, makes a line, or is the only key for one. */
export function sendsByKey(event: ReactKeyboardEvent, sendWith: 'enter' | 'mod-enter'): boolean {
  // Enter that ends a composition chooses a word; it does not send.
  if (event.key !== 'Enter' || event.nativeEvent.isComposing || event.keyCode === 229 || event.shiftKey) return false;
  const mod = event.metaKey || event.ctrlKey;
  // A keyboard on the screen has no other key for a new line.
  return mod || (sendWith === 'enter' && !isTouch());
}

/** The device is worked by fingers alone. */
export const isTouch = () => matchMedia('(hover: none) and (pointer: coarse)').matches;
