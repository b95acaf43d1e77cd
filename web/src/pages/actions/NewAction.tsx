import { useId, useState } from 'react';
import { onyx } from '../../store/client';
import { ACTIONS_FOLDER, refreshActions } from '../../store/registry';
import { toast } from '../../store/state';
import { Field, Form } from '../../ui/form';
import { Modal } from '../../ui/Modal';

const STARTERS: Record<string, string> = {
  'Morning brief':
    'It is {{date}}. Look through my notes of the last days and tell me in at most six lines what is due, who waits for me, and what I should start with.',
  'Extract links':
    'Go through yesterday’s notes, collect all links with one line each, and write them to agent/runs/{{date}}-links.md.',
  'Sum up': 'Sum this up in five lines, the most important first:\n\n{{selection}}',
};

/** Creates an action by writing its file. */
export function NewAction({ close }: { close: () => void }) {
  const [name, setName] = useState('');
  const [prompt, setPrompt] = useState('');
  const id = useId();
  const take = (starter: string) => {
    setName(starter);
    setPrompt(STARTERS[starter] ?? '');
  };
  const make = async (field: (name: string) => string) => {
    const front = field('confirm') === 'on' ? '---\nrequires_confirmation: true\n---\n' : '';
    await onyx.memory.write(`vault/${ACTIONS_FOLDER}/${name.trim()}.md`, `${front}${prompt.trim()}\n`);
    await refreshActions();
    toast(`${name.trim()} was created`);
    close();
  };
  return (
    <Modal label="New action" onClose={close} className="max-w-130">
      <div className="max-h-[84vh] overflow-y-auto p-5">
        <h2 className="mb-2 font-semibold">New action</h2>
        <div className="mb-3 flex flex-wrap items-center gap-2">
          <span className="meta">Start from</span>
          {Object.keys(STARTERS).map((starter) => (
            <button key={starter} type="button" className="chip" onClick={() => take(starter)}>
              {starter}
            </button>
          ))}
        </div>
        <Form action="Create" onSubmit={make} onCancel={close}>
          <Field
            label="Name"
            name="name"
            required
            autoFocus
            maxLength={80}
            pattern="[^\/\\.][^\/\\]*"
            title="No slashes, and no dot at the beginning."
            value={name}
            onChange={(event) => setName(event.target.value)}
            hint="The name of the file and of the button."
          />
          <div className="meta">
            <label htmlFor={id}>Instructions for your agent</label>
            <textarea
              id={id}
              required
              dir="auto"
              className="field mt-1 h-auto min-h-36 py-2 text-text"
              value={prompt}
              onChange={(event) => setPrompt(event.target.value)}
            />
            <span className="mt-1 block text-tiny">
              {
                '{{date}}, {{time}} and {{person}} are filled in. {{selection}} is the text you selected; if there is none, you are asked.'
              }
            </span>
          </div>
          <label className="flex min-h-9 items-center gap-2.5 max-md:min-h-11">
            <input type="checkbox" name="confirm" className="size-4 accent-(--accent)" /> Ask before it runs
          </label>
        </Form>
      </div>
    </Modal>
  );
}
