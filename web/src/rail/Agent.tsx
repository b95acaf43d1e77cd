import { ChevronDown } from 'lucide-react';
import type { Space } from '@onyx/sdk';
import { onyx } from '../store/client';
import { openCompanion, useCompanion } from '../store/companion';
import { refreshSpaces } from '../store/spaces';
import { useStore } from '../store/state';
import { attempt } from '../ui/act';
import { hueOf } from '../ui/hue';
import { Menu } from '../ui/Menu';

/** Chooses the agent that answers in this space. */
export function Agent({ space }: { space: Space }) {
  const { agent, agentName } = useCompanion(space.id);
  const agents = useStore((state) => state.status?.agents) ?? [];
  if (agent === undefined) return null;
  const choose = async (defaultAgent: string) => {
    if (!(await attempt('The agent was not changed', () => onyx.spaces.update(space.id, { defaultAgent })))) return;
    await Promise.all([openCompanion(space.id), refreshSpaces()]);
  };
  const shown = (
    <>
      <span className="hue" style={{ background: hueOf(agent) }} aria-hidden />
      <span className="truncate">{agentName}</span>
    </>
  );
  if (agents.length < 2) return <span className="chip max-w-32 shrink-0">{shown}</span>;
  const entries = agents.map((one) => ({
    label: one.name,
    detail: one.model ?? undefined,
    checked: one.id === agent,
    run: () => void choose(one.id),
  }));
  return (
    <Menu label={`Answers here: ${agentName}. Change`} className="chip max-w-32 shrink-0" entries={entries}>
      {shown}
      <ChevronDown size={13} className="shrink-0" aria-hidden />
    </Menu>
  );
}
