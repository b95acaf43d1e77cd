import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { Card, Field, Form, Line, Section } from '../../ui/form';
import { Modal } from '../../ui/Modal';
import { Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';

const CREDENTIALS: Record<string, string> = {
  session: 'Signed in with this browser',
  token: 'Signed in with an access token',
  owner_token: 'Signed in with the owner’s token',
  password: 'Signed in with a password',
};

export function You() {
  const me = useLoaded('me', () => onyx.me());
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Section title="You">
        <Shown of={me} rows={2}>
          {(person) => (
            <Card>
              <Line label={person.name ?? person.person} detail={CREDENTIALS[person.credential] ?? 'Signed in'}>
                <span className="chip">{person.role}</span>
              </Line>
              <Line label="Password" detail="For browsers that are not on this machine.">
                <button type="button" className="btn" onClick={() => setAsking(true)}>
                  Change password
                </button>
              </Line>
            </Card>
          )}
        </Shown>
      </Section>
      <Section title="For your agents" detail="A plain file of yours; every version is kept.">
        <Card>
          <FileLine path="vault/agents.md" label="Standing instructions" detail="What every agent should keep to, whoever it is." />
        </Card>
      </Section>
      {asking && <ChangePassword close={() => setAsking(false)} />}
    </>
  );
}

function FileLine({ path, label, detail }: { path: string; label: string; detail: string }) {
  return (
    <Line label={label} detail={detail}>
      <Link to="/memory" search={{ path }} className="btn">
        Open
      </Link>
    </Line>
  );
}

function ChangePassword({ close }: { close: () => void }) {
  const save = async (field: (name: string) => string) => {
    await onyx.setPassword(field('password'), field('current') || undefined);
    close();
    toast('Password changed; browsers that used the old one sign in again');
  };
  return (
    <Modal label="Change password" onClose={close} className="max-w-105">
      <div className="p-5">
        <h2 className="mb-3 font-semibold">Change password</h2>
        <Form action="Change" onSubmit={save} onCancel={close}>
          <Field label="Password now" name="current" type="password" autoComplete="current-password" hint="Empty if you have none yet." autoFocus />
          <Field label="New password" name="password" type="password" autoComplete="new-password" minLength={8} required hint="At least eight characters." />
        </Form>
      </div>
    </Modal>
  );
}
