import type { ConnectorBinding } from '@onyx/sdk';
import { Card, Line, Section } from '../../ui/form';

const ORDER = ['thread', 'peer', 'guild', 'account', 'network'] as const;
const WORDS: Record<(typeof ORDER)[number], string> = {
  thread: 'thread',
  peer: 'chat',
  guild: 'server',
  account: 'account',
  network: 'network',
};

const rank = (binding: ConnectorBinding) =>
  ORDER.reduce((sum, key, index) => sum + (binding[key] ? 2 ** (ORDER.length - index) : 0), 0);

const place = (binding: ConnectorBinding) =>
  [...ORDER]
    .reverse()
    .filter((key) => binding[key])
    .map((key) => `${WORDS[key]} ${binding[key]}`)
    .join(', ') || 'Everyone';

/** The bindings of the config: which agent answers whom. The first match applies. */
export function Bindings({ bindings }: { bindings: ConnectorBinding[] }) {
  if (bindings.length === 0) return null;
  const sorted = [...bindings].sort((a, b) => rank(b) - rank(a));
  return (
    <Section title="Who answers whom" detail="From the most to the least specific; the first match applies.">
      <Card>
        {sorted.map((binding) => (
          <Line key={`${place(binding)} ${binding.agent}`} label={place(binding)} detail={`${binding.agent} answers`} />
        ))}
      </Card>
    </Section>
  );
}
