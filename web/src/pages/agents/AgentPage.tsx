import type { ComponentType } from 'react';
import type { AgentDetails } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { Header } from '../../shell/Header';
import { Shown } from '../../ui/page';
import { Tabs } from '../../ui/Tabs';
import { useLoaded } from '../../ui/useLoaded';
import { AgentMemory } from './AgentMemory';
import { Overview } from './Overview';
import { Persona } from './Persona';
import { Runs } from './Runs';
import { Tools } from './Tools';

export interface AgentTab {
  agent: AgentDetails;
  reload: () => void;
}

interface Tab {
  text: string;
  Body: ComponentType<AgentTab>;
  /** The tab fills the page and has its own bar at the bottom. */
  whole?: true;
}

const TABS: Record<string, Tab> = {
  overview: { text: 'Overview', Body: Overview },
  persona: { text: 'Persona', Body: Persona, whole: true },
  tools: { text: 'Tools', Body: Tools },
  memory: { text: 'Memory', Body: AgentMemory },
  runs: { text: 'Runs', Body: Runs },
};

export function AgentPage({ id, tab }: { id: string; tab: string }) {
  const agent = useLoaded(`agent ${id}`, () => onyx.agents.get(id));
  const { Body, whole } = TABS[tab] ?? { Body: Overview, whole: undefined };
  const tabs = Object.entries(TABS).map(([name, { text }]) => ({ to: `/agents/${id}/${name}`, text }));
  return (
    <>
      <Header title={agent.data?.name ?? id} back="/agents">
        <span className="max-md:hidden">
          <Tabs label="Agent" tabs={tabs} />
        </span>
      </Header>
      <div className="border-b border-line px-3 md:hidden">
        <Tabs label="Agent" tabs={tabs} />
      </div>
      {whole && agent.data ? (
        <Body key={id} agent={agent.data} reload={agent.reload} />
      ) : (
        <div className="flex min-h-0 flex-1 flex-col overflow-y-auto px-4 py-4 md:px-6 md:py-6">
          <div className="mx-auto flex w-full max-w-[880px] flex-1 flex-col">
            <Shown of={agent}>{(data) => <Body key={`${id} ${tab}`} agent={data} reload={agent.reload} />}</Shown>
          </div>
        </div>
      )}
    </>
  );
}
