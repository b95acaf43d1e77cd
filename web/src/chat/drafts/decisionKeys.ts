// The keys that decide a draft: A, R and the numbers of offered answers. They act on the focused card, or on the only
// waiting card of the page.

import { useLayoutEffect, type RefObject } from 'react';
import { isWriting } from '../../ui/keyboard';

const OPEN = '[data-draft][data-open]';

export const openCards = () => [...document.querySelectorAll<HTMLElement>(OPEN)];

/** The next waiting card after this one, or the last one before it. */
export function nextOpenCard(card: HTMLElement | null): HTMLElement | undefined {
  const others = openCards().filter((other) => other !== card);
  const isAfter = (other: HTMLElement) => card !== null && (card.compareDocumentPosition(other) & 4) !== 0;
  return others.find(isAfter) ?? others.at(-1);
}

/** `acts`: the action of each key. */
export function useDecisionKeys(card: RefObject<HTMLElement | null>, acts: Record<string, () => unknown>): void {
  // The keys work as soon as the card is on the screen.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const act = Object.hasOwn(acts, event.key) ? acts[event.key] : undefined;
      if (!act) return;
      if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || event.repeat) return;
      if (isWriting(event.target) || document.querySelector('dialog[open]') || !isMeant(card.current)) return;
      // Otherwise the letter would be typed into the reason field, which takes the focus.
      event.preventDefault();
      act();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
}

function isMeant(card: HTMLElement | null): boolean {
  if (!card?.dataset['open']) return false;
  const focused = document.activeElement?.closest(OPEN);
  if (focused) return focused === card;
  const cards = openCards();
  return cards.length === 1 && cards[0] === card;
}
