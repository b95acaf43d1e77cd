/** Is somebody typing there? Single-letter shortcuts must not take letters away from a field. */
export function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** The device is worked by fingers alone. */
export const isTouch = () => matchMedia('(hover: none) and (pointer: coarse)').matches;
