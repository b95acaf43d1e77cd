import { useState } from 'react';
import { Plus } from 'lucide-react';
import type { Person } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { Card, Field, Form, Line, Section } from '../../ui/form';
import { Confirm, Modal } from '../../ui/Modal';
import { Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';

type Asking = { what: 'add' } | { what: 'password' | 'remove'; person: Person };

export function People() {
  const people = useLoaded('people', () => onyx.admin.people());
  const [asking, setAsking] = useState<Asking>();
  const done = (said: string) => {
    setAsking(undefined);
    toast(said);
    people.reload();
  };
  const add = async (field: (name: string) => string) => {
    await onyx.admin.addPerson({ id: field('id'), name: field('name') || undefined });
    if (field('password')) await onyx.admin.setPassword(field('id'), field('password'));
    done(`${field('id')} was added`);
  };
  const remove = async (person: Person, yes: boolean) => {
    setAsking(undefined);
    if (
      yes &&
      (await attempt(`${person.id} was not removed`, () => onyx.admin.removePerson(person.id).then(() => true)))
    )
      done(`${person.id} was removed`);
  };
  return (
    <Section
      title="People"
      detail="Each person has a private vault, memory and chats that no one else can read."
      action={
        <button type="button" className="btn" onClick={() => setAsking({ what: 'add' })}>
          <Plus size={15} aria-hidden /> Add
        </button>
      }
    >
      <Shown of={people}>
        {(list) => (
          <Card>
            {list.map((person) => (
              <Line
                key={person.id}
                label={
                  <span className="flex items-center gap-2">
                    {person.name ?? person.id} <span className="text-tiny text-dim">{person.role}</span>
                  </span>
                }
                detail={[
                  person.id,
                  person.hasPassword ? 'has a password' : 'no password',
                  person.source === 'config' && 'from onyx.json',
                ]
                  .filter(Boolean)
                  .join(' · ')}
              >
                <button type="button" className="btn" onClick={() => setAsking({ what: 'password', person })}>
                  Password
                </button>
                {person.role !== 'owner' && person.source !== 'config' && (
                  <button
                    type="button"
                    className="btn btn-danger"
                    aria-label={`Remove ${person.id}`}
                    onClick={() => setAsking({ what: 'remove', person })}
                  >
                    Remove
                  </button>
                )}
              </Line>
            ))}
          </Card>
        )}
      </Shown>
      {asking?.what === 'add' && (
        <Sheet title="Add a person" close={() => setAsking(undefined)}>
          <Form action="Add" onSubmit={add} onCancel={() => setAsking(undefined)}>
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
      )}
      {asking?.what === 'password' && (
        <Sheet title={`Password of ${asking.person.id}`} close={() => setAsking(undefined)}>
          <Form
            action="Set"
            onCancel={() => setAsking(undefined)}
            onSubmit={async (field) => (
              await onyx.admin.setPassword(asking.person.id, field('password')), done('Password set')
            )}
          >
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
      )}
      {asking?.what === 'remove' && (
        <Confirm
          question={`Remove ${asking.person.id}?`}
          detail="They can no longer sign in. Their files stay on disk."
          action="Remove"
          onAnswer={(yes) => void remove(asking.person, yes)}
        />
      )}
    </Section>
  );
}

export function Sheet({ title, close, children }: { title: string; close: () => void; children: React.ReactNode }) {
  return (
    <Modal label={title} onClose={close} className="max-w-105">
      <div className="p-5">
        <h2 className="mb-3 font-semibold">{title}</h2>
        {children}
      </div>
    </Modal>
  );
}
