import { useState } from 'react';
import { create } from 'zustand';
import { writeStored, readStored } from '../store/browserStorage';
import { useStore } from '../store/state';

const SEEN = 'onyx.tour';

/** The current step; absent outside a tour. */
export const useTour = create<{ step?: number }>(() => ({}));

export const startTour = () => useTour.setState({ step: 0 });

export function endTour(): void {
  writeStored(SEEN, true);
  useTour.setState({ step: undefined });
}

/** Offers the tour to a person without chats, until it is taken or skipped. */
export function TourOffer() {
  const isNew = useStore(
    (state) =>
      state.sessionsPhase === 'ready' && Object.keys(state.sessions).length === 0 && state.pending.length === 0,
  );
  const isOn = useTour(({ step }) => step !== undefined);
  const [seen, setSeen] = useState(() => readStored(SEEN, false));
  if (seen || isOn || !isNew) return null;
  return (
    <p className="meta mt-4 flex items-center gap-3">
      <span>New here?</span>
      <button type="button" className="text-accent underline underline-offset-3 max-md:min-h-11" onClick={startTour}>
        Take the tour
      </button>
      <button
        type="button"
        className="underline underline-offset-3 max-md:min-h-11"
        onClick={() => (endTour(), setSeen(true))}
      >
        Skip
      </button>
    </p>
  );
}
