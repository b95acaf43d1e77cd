import { useState } from 'react';
import { ThumbsDown, ThumbsUp } from 'lucide-react';
import type { Rating } from '@onyx/sdk';
import { rate } from '../store/actions';
import type { Answer } from '../store/messages';

const KINDS: { rating: Rating; label: string; ask: string; Icon: typeof ThumbsUp }[] = [
  { rating: 'good', label: 'Good answer', ask: 'What was good about it? (optional)', Icon: ThumbsUp },
  { rating: 'bad', label: 'Bad answer', ask: 'What was wrong with it? (optional)', Icon: ThumbsDown },
];

/** The newest text turn of an answer; a rating refers to it. */
const rated = (answer: Answer) => answer.parts.findLast((part) => part.kind === 'text')?.turnId;

/** Thumbs up and down. A second press of the same one removes the rating. */
export function Thumbs({
  answer,
  sessionId,
  disabled,
  onRated,
}: {
  answer: Answer;
  sessionId: string;
  disabled: boolean;
  onRated: (rating?: Rating) => void;
}) {
  const turn = rated(answer);
  if (turn === undefined) return null;
  const given = answer.feedback?.rating;
  const press = async (rating: Rating) => {
    const next = given === rating ? undefined : rating;
    if (await rate(sessionId, turn, { rating: next })) onRated(next);
  };
  return KINDS.map(({ rating, label, Icon }) => (
    <button
      key={rating}
      type="button"
      className={`icon-btn ${given === rating ? 'text-accent' : ''}`}
      aria-label={label}
      title={label}
      aria-pressed={given === rating}
      disabled={disabled}
      onClick={() => void press(rating)}
    >
      <Icon size={15} aria-hidden />
    </button>
  ));
}

/** The field for a note with the rating. */
export function Note({
  answer,
  sessionId,
  rating,
  close,
}: {
  answer: Answer;
  sessionId: string;
  rating: Rating;
  close: () => void;
}) {
  const [note, setNote] = useState(answer.feedback?.note ?? '');
  const turn = rated(answer);
  const save = async () => {
    if (turn !== undefined && (await rate(sessionId, turn, { rating, note: note.trim() || undefined }))) close();
  };
  return (
    <form
      className="mt-2 flex flex-wrap items-center gap-2"
      aria-label="Note on this answer"
      onSubmit={(event) => (event.preventDefault(), void save())}
    >
      <input
        autoFocus
        className="field min-w-40 flex-1"
        aria-label={KINDS.find((kind) => kind.rating === rating)?.ask}
        placeholder={KINDS.find((kind) => kind.rating === rating)?.ask}
        value={note}
        maxLength={4000}
        onChange={(event) => setNote(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && (event.stopPropagation(), close())}
      />
      <button type="submit" className="btn">
        Save note
      </button>
      <button type="button" className="btn" onClick={close}>
        Close
      </button>
    </form>
  );
}

/** The person's note, shown below the answer. */
export function Rated({ answer, onChange }: { answer: Answer; onChange: () => void }) {
  const { feedback } = answer;
  if (!feedback?.note) return null;
  return (
    <p className="mt-2 text-meta text-dim [overflow-wrap:anywhere]">
      Your note: {feedback.note}{' '}
      <button type="button" className="underline underline-offset-3" onClick={onChange}>
        Change
      </button>
    </p>
  );
}
