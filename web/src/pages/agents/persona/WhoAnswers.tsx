import { useState } from 'react';
import { useStore } from '../../../store/state';
import { hueOf } from '../../../ui/hue';
import { Modal } from '../../../ui/Modal';

/** Chooses the personas that answer each test input. */
export function WhoAnswers({
  persona,
  chosen,
  onChosen,
  close,
}: {
  persona: string;
  chosen: string[];
  onChosen: (personas: string[]) => void;
  close: () => void;
}) {
  const agents = useStore((state) => state.status?.agents) ?? [];
  const [picked, setPicked] = useState(chosen);
  const toggle = (id: string, on: boolean) => setPicked(on ? [...picked, id] : picked.filter((one) => one !== id));
  return (
    <Modal label="Who answers" onClose={close} className="max-w-105">
      <form className="p-5" onSubmit={(event) => (event.preventDefault(), onChosen(picked), close())}>
        <h2 className="mb-1 font-semibold">Who answers</h2>
        <p className="meta mb-2">
          Each agent answers on its own. Inputs that you run are also saved in the test inputs of the other agents.
        </p>
        <ul className="mb-4 max-h-[50vh] overflow-y-auto">
          {agents.map((agent) => (
            <li key={agent.id}>
              <label className="flex min-h-9 items-center gap-2.5 max-md:min-h-11">
                <input
                  type="checkbox"
                  className="size-4 shrink-0 accent-(--accent)"
                  checked={picked.includes(agent.id)}
                  disabled={agent.id === persona}
                  onChange={(event) => toggle(agent.id, event.target.checked)}
                />
                <span className="hue" style={{ background: hueOf(agent.id) }} aria-hidden />
                <span className="min-w-0 truncate">{agent.name}</span>
              </label>
            </li>
          ))}
        </ul>
        <div className="flex justify-end gap-2">
          <button type="button" className="btn" onClick={close}>
            Cancel
          </button>
          <button type="submit" className="btn btn-primary">
            Choose
          </button>
        </div>
      </form>
    </Modal>
  );
}
