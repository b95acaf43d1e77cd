import { useState } from 'react';
import type { Session } from '@onyx/sdk';
import { setAnswering } from '../store/actions';
import { useStore } from '../store/state';
import { Choices } from '../ui/form';
import { hueOf } from '../ui/hue';
import { Modal } from '../ui/Modal';

/** Chooses which agents answer in this chat, and whether they answer in turn or all at once. */
export function Answering({ session, close }: { session: Session; close: () => void }) {
  const agents = useStore((state) => state.status?.agents) ?? [];
  const [chosen, setChosen] = useState<string[]>(session.agents.length > 0 ? session.agents : [session.agent]);
  const [mode, setMode] = useState(session.mode);
  const toggle = (id: string, on: boolean) => setChosen(on ? [...chosen, id] : chosen.filter((one) => one !== id));
  const save = async () => {
    if (await setAnswering(session.id, chosen, mode)) close();
  };
  return (
    <Modal label="Who answers" onClose={close} className="max-w-105">
      <div className="p-5">
        <h2 className="mb-2 font-semibold">Who answers</h2>
        <ul className="mb-3">
          {agents.map((agent) => (
            <li key={agent.id}>
              <label className="flex min-h-9 items-center gap-2.5 max-md:min-h-11">
                <input
                  type="checkbox"
                  className="size-4 accent-(--accent)"
                  checked={chosen.includes(agent.id)}
                  onChange={(event) => toggle(agent.id, event.target.checked)}
                />
                <span className="hue" style={{ background: hueOf(agent.id) }} aria-hidden /> {agent.name}
                {chosen.length > 1 && chosen.includes(agent.id) && (
                  <span className="ml-auto text-tiny text-dim">{chosen.indexOf(agent.id) + 1}.</span>
                )}
              </label>
            </li>
          ))}
        </ul>
        {chosen.length > 1 && (
          <Choices
            label="Order of answers"
            value={mode}
            options={[
              ['sequential', 'One after the other'],
              ['parallel', 'All at once'],
            ]}
            onChange={setMode}
          />
        )}
        <div className="mt-4 flex justify-end gap-2">
          <button type="button" className="btn" onClick={close}>
            Cancel
          </button>
          <button type="button" className="btn btn-primary" disabled={chosen.length === 0} onClick={() => void save()}>
            Save
          </button>
        </div>
      </div>
    </Modal>
  );
}
