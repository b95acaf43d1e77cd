import { useState } from 'react';
import { useTagList } from '../store/tags';
import { Modal } from '../ui/Modal';

const LONGEST = 40;

/** A dialog that selects and creates tags. */
export function Tags({
  label,
  action,
  given,
  onAnswer,
}: {
  label: string;
  action: string;
  given: string[];
  /** Receives the tags, or `undefined` if the person cancels. */
  onAnswer: (tags?: string[]) => void;
}) {
  const known = useTagList().map(({ tag }) => tag);
  const [chosen, setChosen] = useState(given);
  const [made, setMade] = useState('');
  const all = [...new Set([...known, ...chosen])].sort((a, b) => a.localeCompare(b));
  const toggle = (tag: string, on: boolean) => setChosen(on ? [...chosen, tag] : chosen.filter((one) => one !== tag));
  // A tag that was typed but not added counts too.
  const fresh = made.trim().replace(/\s+/g, ' ');
  const add = () => {
    if (fresh && !chosen.includes(fresh)) setChosen([...chosen, fresh]);
    setMade('');
  };
  const save = () => onAnswer(fresh && !chosen.includes(fresh) ? [...chosen, fresh] : chosen);
  return (
    <Modal label={label} onClose={() => onAnswer()} className="max-w-105">
      <form className="p-5" onSubmit={(event) => (event.preventDefault(), save())}>
        <h2 className="mb-2 font-semibold">{label}</h2>
        <div className="flex gap-2">
          <input
            data-first-focus
            className="field min-w-0 flex-1"
            placeholder="New tag"
            aria-label="New tag"
            value={made}
            maxLength={LONGEST}
            onChange={(event) => setMade(event.target.value)}
          />
          <button type="button" className="btn" disabled={fresh === ''} onClick={add}>
            Add
          </button>
        </div>
        <ul className="mt-2 max-h-60 overflow-y-auto">
          {all.map((tag) => (
            <li key={tag}>
              <label className="flex min-h-9 items-center gap-2.5 max-md:min-h-11">
                <input
                  type="checkbox"
                  className="size-4 accent-(--accent)"
                  checked={chosen.includes(tag)}
                  onChange={(event) => toggle(tag, event.target.checked)}
                />
                <span className="min-w-0 truncate">{tag}</span>
              </label>
            </li>
          ))}
        </ul>
        <div className="mt-4 flex justify-end gap-2">
          <button type="button" className="btn" onClick={() => onAnswer()}>
            Cancel
          </button>
          <button type="submit" className="btn btn-primary">
            {action}
          </button>
        </div>
      </form>
    </Modal>
  );
}
