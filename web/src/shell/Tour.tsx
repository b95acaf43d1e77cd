import { useEffect, useRef } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { isTouch } from '../ui/keyboard';
import { endTour, useTour } from './tour-offer';

interface Step {
  to: string;
  title: string;
  words: string;
}

const steps = (): Step[] => [
  {
    to: '/chat',
    title: 'Chat',
    words: 'Ask anything. Your agent works with your own files and asks before it deletes or overwrites.',
  },
  {
    to: '/inbox',
    title: 'Inbox',
    words: isTouch()
      ? 'Changes that an agent proposes wait here until you approve or reject them.'
      : 'Changes that an agent proposes wait here. Press A to approve, R to reject.',
  },
  {
    to: '/spaces',
    title: 'Spaces',
    words: 'A space holds the pages, tasks and references of one subject, with an agent beside them.',
  },
  {
    to: '/memory',
    title: 'Memory',
    words: 'What your agents remember and every note they can read. You can change all of it.',
  },
  {
    to: '/chat',
    title: 'Find anything',
    words: isTouch()
      ? 'More lists every other place: agents, jobs, settings.'
      : 'Ctrl K or ⌘ K finds every chat, place and command. ? shows all shortcuts.',
  },
];

/** A card over the pages of the tour; the pages stay usable. */
export default function Tour() {
  const at = useTour(({ step }) => step);
  const navigate = useNavigate();
  const next = useRef<HTMLButtonElement>(null);
  const step = at === undefined ? undefined : steps()[at];
  useEffect(() => {
    if (!step) return;
    // The pressed button may be gone, and Esc closes the tour only from within. A new page may take the focus.
    next.current?.focus();
    void navigate({ to: step.to }).then(() => next.current?.focus());
  }, [at]);
  if (at === undefined || !step) return null;
  const last = steps().length - 1;
  return (
    <section
      role="dialog"
      aria-label="Tour"
      aria-describedby="tour-words"
      className="rise fixed right-4 bottom-20 z-40 w-[min(360px,calc(100vw-32px))] rounded-lg border border-line bg-surface p-4 shadow-over md:bottom-6"
      onKeyDown={(event) => event.key === 'Escape' && endTour()}
    >
      <p className="text-tiny text-dim">
        {at + 1} of {last + 1}
      </p>
      <h2 className="font-semibold">{step.title}</h2>
      <p id="tour-words" className="mt-1 text-[14px] leading-5">
        {step.words}
      </p>
      <div className="mt-3 flex items-center gap-2">
        <button type="button" className="btn mr-auto" onClick={endTour}>
          Skip
        </button>
        {at > 0 && (
          <button type="button" className="btn" onClick={() => useTour.setState({ step: at - 1 })}>
            Back
          </button>
        )}
        <button
          ref={next}
          type="button"
          className="btn btn-primary"
          onClick={() => (at === last ? endTour() : useTour.setState({ step: at + 1 }))}
        >
          {at === last ? 'Done' : 'Next'}
        </button>
      </div>
    </section>
  );
}
