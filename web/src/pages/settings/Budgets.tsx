import { Link } from '@tanstack/react-router';
import type { Account } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { Card, Line, Section } from '../../ui/form';
import { Shown } from '../../ui/page';
import { money, tokens } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';

const limit = (amount: number) => (amount === 0 ? 'no limit' : money(amount));

/** Today beside its limits. */
export function Budgets() {
  const budgets = useLoaded('budgets', () => onyx.admin.budgets());
  return (
    <Shown of={budgets}>
      {(today) => (
        <>
          <Section title="Limits" detail="A run that meets one ends, and what it did is kept.">
            <Card>
              <Line label="One run">{limit(today.limitPerRun)}</Line>
              <Line label="A person and day">{limit(today.limitPerPerson)}</Line>
              <Line label="An agent and day">{limit(today.limitPerAgent)}</Line>
              <Line label={<span className="meta">Limits are set under <code className="font-mono">limits</code> in the configuration.</span>}>
                <Link to="/settings/$section" params={{ section: 'config' }} className="btn">
                  Open
                </Link>
              </Line>
            </Card>
          </Section>
          <Accounts title="Today by person" accounts={today.people} most={today.limitPerPerson} />
          <Accounts title="Today by agent" accounts={today.agents} most={today.limitPerAgent} />
        </>
      )}
    </Shown>
  );
}

function Accounts({ title, accounts, most }: { title: string; accounts: Account[]; most: number }) {
  return (
    <Section title={title}>
      <Card>
        {accounts.length === 0 && <Line label={<span className="meta">Nothing was spent today.</span>} />}
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
    <span className="h-1.5 w-24 overflow-hidden rounded-full bg-line" role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={percent}>
      <span className={`block h-full ${color}`} style={{ width: `${percent}%` }} />
    </span>
  );
}
