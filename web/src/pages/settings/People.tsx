import { useState } from 'react';
import { Plus } from 'lucide-react';
import type { Person } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { Card, Line, Section } from '../../ui/form';
import { Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { AddPerson, RemovePerson, SetPassword } from './PersonForms';

type Asking = { what: 'add' } | { what: 'password' | 'remove'; person: Person };

export function People() {
  const people = useLoaded('people', () => onyx.admin.people());
  const [asking, setAsking] = useState<Asking>();
  const close = () => setAsking(undefined);
  const done = (said: string) => {
    close();
    toast(said);
    people.reload();
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
              <PersonLine
                key={person.id}
                person={person}
                onPassword={() => setAsking({ what: 'password', person })}
                onRemove={() => setAsking({ what: 'remove', person })}
              />
            ))}
          </Card>
        )}
      </Shown>
      {asking?.what === 'add' && <AddPerson close={close} done={done} />}
      {asking?.what === 'password' && <SetPassword person={asking.person} close={close} done={done} />}
      {asking?.what === 'remove' && <RemovePerson person={asking.person} close={close} done={done} />}
    </Section>
  );
}

function PersonLine({
  person,
  onPassword,
  onRemove,
}: {
  person: Person;
  onPassword: () => void;
  onRemove: () => void;
}) {
  const isConfigured = person.source === 'config';
  const about = [person.id, person.hasPassword ? 'has a password' : 'no password', isConfigured && 'from onyx.json'];
  return (
    <Line
      label={
        <span className="flex items-center gap-2">
          {person.name ?? person.id} <span className="text-tiny text-dim">{person.role}</span>
        </span>
      }
      detail={about.filter(Boolean).join(' · ')}
    >
      <button type="button" className="btn" onClick={onPassword}>
        Password
      </button>
      {person.role !== 'owner' && !isConfigured && (
        <button type="button" className="btn btn-danger" aria-label={`Remove ${person.id}`} onClick={onRemove}>
          Remove
        </button>
      )}
    </Line>
  );
}
