import { useEffect, useState } from 'react';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { Card, Field, Form, Line, Section, Select } from '../../ui/form';
import { Empty, Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';

const REFRESH_MS = 5_000;

/** New devices show a code; a signed-in person approves or rejects them. */
export function Devices() {
  const pairings = useLoaded('pairings', () => onyx.admin.pairings());
  const people = useLoaded('pairing-people', () => onyx.admin.people());
  const [person, setPerson] = useState('');
  const { reload } = pairings;
  useEffect(() => {
    const timer = setInterval(reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [reload]);
  const decide = async (code: string, decision: 'approve' | 'reject') => {
    const done = await attempt(decision === 'approve' ? 'Not paired' : 'Not rejected', () =>
      onyx.admin.decidePairing(code, decision, person || undefined).then(() => true),
    );
    if (done) toast(decision === 'approve' ? 'Paired' : 'Rejected');
    pairings.reload();
  };
  return (
    <>
      <Section title="Waiting devices" detail="Open Onyx on the other device, choose to pair, and compare the code.">
        <Shown of={pairings} rows={1}>
          {(list) =>
            list.length === 0 ? (
              <div className="card">
                <Empty>No devices waiting.</Empty>
              </div>
            ) : (
              <Card>
                {list.map((pairing) => (
                  <Line
                    key={pairing.code}
                    label={<span className="font-mono tracking-wider">{pairing.code}</span>}
                    detail={`${pairing.name} · ${pairing.client} · ${Math.ceil(pairing.expiresIn / 60)} min left`}
                  >
                    <button
                      type="button"
                      className="btn btn-primary"
                      onClick={() => void decide(pairing.code, 'approve')}
                    >
                      Pair
                    </button>
                    <button type="button" className="btn" onClick={() => void decide(pairing.code, 'reject')}>
                      Reject
                    </button>
                  </Line>
                ))}
              </Card>
            )
          }
        </Shown>
      </Section>
      <Section title="By code">
        <div className="card p-4">
          <Form
            action="Pair"
            onSubmit={(field) =>
              onyx.admin
                .decidePairing(field('code'), 'approve', person || undefined)
                .then(() => (toast('Paired'), pairings.reload()))
            }
          >
            <Field label="Code on the device" name="code" required autoComplete="off" />
            {people.data && people.data.length > 1 && (
              <div className="meta">
                For
                <div className="mt-1 text-text">
                  <Select
                    label="For whom"
                    value={person}
                    onChange={setPerson}
                    options={[['', 'me'], ...people.data.map((one): [string, string] => [one.id, one.name ?? one.id])]}
                  />
                </div>
              </div>
            )}
          </Form>
        </div>
      </Section>
    </>
  );
}
