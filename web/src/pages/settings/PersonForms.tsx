import type { Person } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { Field, Form } from '../../ui/form';
import { Confirm, Sheet } from '../../ui/Modal';

interface FormProps {
  close: () => void;
  /** Takes what the person is then told. */
  done: (said: string) => void;
}

export function AddPerson({ close, done }: FormProps) {
  const add = async (field: (name: string) => string) => {
    await onyx.admin.addPerson({ id: field('id'), name: field('name') || undefined });
    if (field('password')) await onyx.admin.setPassword(field('id'), field('password'));
    done(`${field('id')} was added`);
  };
  return (
    <Sheet title="Add a person" close={close}>
      <Form action="Add" onSubmit={add} onCancel={close}>
        <Field
          label="Id"
          name="id"
          required
          autoFocus
          pattern="[a-z0-9][a-z0-9_\-]*"
          hint="Lowercase letters and digits. It cannot be changed later."
        />
        <Field label="Name" name="name" />
        <Field
          label="Password"
          name="password"
          type="password"
          autoComplete="new-password"
          minLength={8}
          hint="Optional. They can also pair a device."
        />
      </Form>
    </Sheet>
  );
}

export function SetPassword({ person, close, done }: FormProps & { person: Person }) {
  const set = async (field: (name: string) => string) => {
    await onyx.admin.setPassword(person.id, field('password'));
    done('Password set');
  };
  return (
    <Sheet title={`Password of ${person.id}`} close={close}>
      <Form action="Set" onCancel={close} onSubmit={set}>
        <Field
          label="New password"
          name="password"
          type="password"
          autoComplete="new-password"
          minLength={8}
          required
          autoFocus
        />
      </Form>
    </Sheet>
  );
}

export function RemovePerson({ person, close, done }: FormProps & { person: Person }) {
  const remove = async (yes: boolean) => {
    close();
    if (!yes) return;
    const removed = await attempt(`${person.id} was not removed`, () =>
      onyx.admin.removePerson(person.id).then(() => true),
    );
    if (removed) done(`${person.id} was removed`);
  };
  return (
    <Confirm
      question={`Remove ${person.id}?`}
      detail="They can no longer sign in. Their files stay on disk."
      action="Remove"
      onAnswer={(yes) => void remove(yes)}
    />
  );
}
