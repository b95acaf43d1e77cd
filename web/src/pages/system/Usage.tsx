import { useMemo, useState } from 'react';
import type { UsageReport, UsageSum } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { Choices, Section, Select } from '../../ui/form';
import { Empty, Shown } from '../../ui/page';
import { money, tokens } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';
import { Bars } from './Bars';

const DAY_MS = 86_400_000;
type By = 'agents' | 'models' | 'people';
type Of = 'cost' | 'tokens';

const day = (back: number) => new Date(Date.now() - back * DAY_MS).toISOString().slice(0, 10);
const amount = (sum: UsageSum, of: Of) => (of === 'cost' ? sum.cost : sum.input + sum.output);
const TITLES: Record<By, string> = { agents: 'By agent', models: 'By model', people: 'By person' };

/** The usage by day, and by agent, model or person. */
export default function Usage() {
  const [days, setDays] = useState('30');
  const [of, setOf] = useState<Of>('cost');
  const [by, setBy] = useState<By>('agents');
  const usage = useLoaded(`usage ${days}`, () => onyx.admin.usage({ since: day(Number(days) - 1) }));
  const words = of === 'cost' ? money : tokens;
  return (
    <>
      <div className="mb-4 flex flex-wrap gap-2">
        <Choices
          label="Measure"
          value={of}
          onChange={setOf}
          options={[
            ['cost', 'Cost'],
            ['tokens', 'Tokens'],
          ]}
        />
        <Choices
          label="By"
          value={by}
          onChange={setBy}
          options={[
            ['agents', 'Agent'],
            ['models', 'Model'],
            ['people', 'Person'],
          ]}
        />
        <span className="flex-1" />
        <Select
          label="Time"
          value={days}
          onChange={setDays}
          options={[
            ['7', '7 days'],
            ['30', '30 days'],
            ['90', '90 days'],
          ]}
        />
      </div>
      <Shown of={usage} rows={1} height="h-64">
        {(report) =>
          report.days.length === 0 ? (
            <Empty>No usage in this period.</Empty>
          ) : (
            <Charts report={report} days={Number(days)} of={of} by={by} words={words} />
          )
        }
      </Shown>
    </>
  );
}

function Charts({
  report,
  days,
  of,
  by,
  words,
}: {
  report: UsageReport;
  days: number;
  of: Of;
  by: By;
  words: (amount: number) => string;
}) {
  const perDay = useMemo(() => {
    const known = new Map(report.days.map((sum) => [sum.name, amount(sum, of)]));
    return Array.from({ length: days }, (_, index) => day(days - 1 - index)).map((label) => ({
      label,
      value: known.get(label) ?? 0,
    }));
  }, [report, days, of]);
  const shares = useMemo(
    () =>
      report[by]
        .map((sum) => ({ name: sum.name || 'unknown', value: amount(sum, of) }))
        .sort((a, b) => b.value - a.value),
    [report, by, of],
  );
  const total = amount(report.total, of);
  const most = shares[0]?.value || 1;
  return (
    <>
      <Section title={of === 'cost' ? 'Cost' : 'Tokens'} detail={`${words(total)} in ${days} days`}>
        <div className="card p-4">
          <Bars bars={perDay} words={words} label={`${of === 'cost' ? 'Cost' : 'Tokens'} by day`} />
        </div>
      </Section>
      <Section title={TITLES[by]}>
        <ul className="card divide-y divide-line">
          {shares.map((share) => (
            <li key={share.name} className="px-4 py-2.5">
              <div className="flex justify-between gap-4">
                <span className="truncate" title={share.name}>
                  {share.name}
                </span>
                <span className="tabular-nums">{words(share.value)}</span>
              </div>
              <div className="mt-1.5 h-1 rounded-full bg-sunken" aria-hidden>
                <div
                  className="h-full rounded-full bg-accent"
                  style={{ width: `${Math.max(1, (share.value / most) * 100)}%` }}
                />
              </div>
            </li>
          ))}
        </ul>
      </Section>
    </>
  );
}
