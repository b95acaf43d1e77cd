import { useState } from 'react';
import { onyx } from '../../store/client';
import { Field, Form } from '../../ui/form';
import { Modal } from '../../ui/Modal';
import { Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';

const template = (name: string) => `---
name: ${name}
description: What it is for, in one line.
---
1. First, …
`;

/** Creates or changes a skill. Saving accepts it. */
export function SkillEditor({ name, close, done }: { name?: string; close: () => void; done: (said: string) => void }) {
  return (
    <Modal label={name ? `Edit ${name}` : 'New skill'} onClose={close} className="max-w-180">
      {name ? <Existing name={name} close={close} done={done} /> : <Text close={close} done={done} />}
    </Modal>
  );
}

function Existing({ name, close, done }: { name: string; close: () => void; done: (said: string) => void }) {
  const skill = useLoaded(`skill ${name}`, () => onyx.skills.get(name));
  return (
    <Shown of={skill}>{(known) => <Text name={name} text={known.text ?? undefined} close={close} done={done} />}</Shown>
  );
}

function Text({
  name,
  text,
  close,
  done,
}: {
  name?: string;
  text?: string;
  close: () => void;
  done: (said: string) => void;
}) {
  const [written, setWritten] = useState(text);
  const [called, setCalled] = useState(name ?? '');
  const save = async () => {
    await onyx.skills.write(called, written ?? template(called));
    done(`${called} saved`);
  };
  return (
    <Form action="Save" onSubmit={save} onCancel={close}>
      {!name && (
        <Field
          label="Name"
          name="name"
          required
          autoFocus
          pattern="[a-z0-9]+(-[a-z0-9]+)*"
          hint="Lowercase letters, digits and dashes."
          value={called}
          onChange={(event) => setCalled(event.currentTarget.value)}
        />
      )}
      <label className="block">
        <span className="meta">SKILL.md</span>
        <textarea
          className="field min-h-80 w-full font-mono text-meta"
          value={written ?? template(called)}
          onChange={(event) => setWritten(event.currentTarget.value)}
        />
      </label>
    </Form>
  );
}
