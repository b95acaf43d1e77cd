import type { KeyboardEvent as ReactKeyboardEvent } from 'react';

/** Whether the target is a text field. Single-letter shortcuts must not take letters away from a field. */
export function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  // The page editor is in a shadow root, whose events seem to come from its host.
  const inner = target.shadowRoot?.activeElement;
  if (inner) return isWriting(inner);
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Whether Enter sends: not if it ends a composition, inserts a line, or is the only key for a new line. */
export function sendsByKey(event: ReactKeyboardEvent, sendWith: 'enter' | 'mod-enter'): boolean {
  // Enter during a composition chooses a word.
  if (event.key !== 'Enter' || event.nativeEvent.isComposing || event.keyCode === 229 || event.shiftKey) return false;
  const mod = event.metaKey || event.ctrlKey;
  // An on-screen keyboard has no other key for a new line.
  return mod || (sendWith === 'enter' && !isTouch());
}

/** Whether the device has only a touch screen. */
export const isTouch = () => matchMedia('(hover: none) and (pointer: coarse)').matches;
