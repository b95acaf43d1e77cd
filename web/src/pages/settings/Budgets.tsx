import type { Account } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { Card, Field, Form, Line, Section } from '../../ui/form';
import { toast } from '../../store/state';
import { Shown } from '../../ui/page';
import { money, tokens } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';

/** Today's spending and its limits. */
export function Budgets() {
  const budgets = useLoaded('budgets', () => onyx.admin.budgets());
  const save = async (field: (name: string) => string) => {
    await onyx.admin.setLimits({
      limitPerRun: Number(field('run')),
      limitPerPerson: Number(field('person')),
      limitPerAgent: Number(field('agent')),
    });
    toast('Limits saved');
    budgets.reload();
  };
  return (
    <Shown of={budgets}>
      {(today) => (
        <>
          <Section title="Limits" detail="A run stops when it reaches a limit; its work is kept. 0 means no limit.">
            <div className="card p-4">
              <Form key={JSON.stringify(today)} action="Save" onSubmit={save}>
                <div className="grid gap-3 sm:grid-cols-3">
                  <Amount label="Per run ($)" name="run" value={today.limitPerRun} />
                  <Amount label="Per person per day ($)" name="person" value={today.limitPerPerson} />
                  <Amount label="Per agent per day ($)" name="agent" value={today.limitPerAgent} />
                </div>
              </Form>
            </div>
          </Section>
          <Accounts title="Today by person" accounts={today.people} most={today.limitPerPerson} />
          <Accounts title="Today by agent" accounts={today.agents} most={today.limitPerAgent} />
        </>
      )}
    </Shown>
  );
}

const Amount = ({ label, name, value }: { label: string; name: string; value: number }) => (
  <Field label={label} name={name} type="number" min={0} step="any" required defaultValue={value} />
);

function Accounts({ title, accounts, most }: { title: string; accounts: Account[]; most: number }) {
  return (
    <Section title={title}>
      <Card>
        {accounts.length === 0 && <Line label={<span className="meta">No spending today.</span>} />}
        {accounts.map((account) => (
          <Line key={account.name} label={account.name} detail={`${tokens(account.tokens)} tokens`}>
            {most > 0 && <Meter label={`Share of ${account.name}’s limit`} share={account.cost / most} />}
            <span className="tabular-nums">{money(account.cost)}</span>
          </Line>
        ))}
      </Card>
    </Section>
  );
}

function Meter({ label, share }: { label: string; share: number }) {
  const percent = Math.min(100, Math.round(share * 100));
  const color = percent >= 100 ? 'bg-danger' : percent >= 80 ? 'bg-warn' : 'bg-dim';
  return (
    <span
      className="h-1.5 w-24 overflow-hidden rounded-full bg-line"
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
    >
      <span className={`block h-full ${color}`} style={{ width: `${percent}%` }} />
    </span>
  );
}
