import { Pin, PinOff } from 'lucide-react';
import type { Agent } from '@onyx/sdk';
import { usePreferences } from '../store/preferences';
import { useStore } from '../store/state';
import { Menu } from '../ui/Menu';
import { loadModels, shortModel, useModels } from './models';

export interface AgentMenuProps {
  name: string;
  agents?: Agent[];
  chosen?: Agent;
  /** Absent where the agent cannot be chosen. */
  onAgent?: (agent: string) => void;
  pinnedAgent?: string;
  onPinAgent?: (agent?: string) => void;
}

/** Chooses the agent that answers, or only names it where there is no choice. */
export function AgentMenu({ name, agents, chosen, onAgent, pinnedAgent, onPinAgent }: AgentMenuProps) {
  if (!onAgent || !agents || agents.length < 2) return <span className="chip">{name}</span>;
  const entries = agents.map((entry) => ({
    label: entry.name,
    detail: entry.model ?? undefined,
    checked: entry.id === chosen?.id,
    run: () => onAgent(entry.id),
  }));
  const isPinned = chosen !== undefined && chosen.id === pinnedAgent;
  const pin = onPinAgent &&
    chosen && {
      label: isPinned ? `Stop starting with ${chosen.name}` : `Always start with ${chosen.name}`,
      detail: isPinned ? 'New chats use the default agent again' : 'For new chats in this browser',
      icon: isPinned ? <PinOff size={15} aria-hidden /> : <Pin size={15} aria-hidden />,
      run: () => onPinAgent(isPinned ? undefined : chosen.id),
    };
  return (
    <Menu label="Agent" className="chip" side="above" entries={pin ? [...entries, pin] : entries}>
      {name}
    </Menu>
  );
}

/** Chooses the agent's own model or another known model. */
export function ModelMenu({
  own,
  chosen,
  onModel,
}: {
  own?: string;
  chosen?: string;
  onModel: (model?: string) => void;
}) {
  const known = useModels();
  const owner = useStore((state) => state.me?.role === 'owner');
  if (!own) return null;
  const models = [own, ...known.filter((model) => model !== own)];
  const shown = chosen ?? own;
  if (models.length < 2 && !owner) {
    return (
      <span className="chip hidden sm:inline-flex" title={own}>
        {shortModel(own)}
      </span>
    );
  }
  const entries = models.map((model) => ({
    label: shortModel(model),
    detail: model === own ? 'The agent’s own' : model,
    checked: model === shown,
    run: () => onModel(model === own ? undefined : model),
  }));
  return (
    <Menu
      label="Model"
      className="chip max-sm:max-w-28"
      side="above"
      entries={entries}
      onOpen={() => void loadModels()}
    >
      {shortModel(shown)}
    </Menu>
  );
}

/** Chooses when a message is read that is sent while the agent works. */
export function DeliveryMenu() {
  const { delivery } = usePreferences();
  const set = (value: typeof delivery) => () => usePreferences.setState({ delivery: value });
  return (
    <Menu
      label="While the agent works"
      className="chip hidden md:inline-flex"
      side="above"
      entries={[
        {
          label: 'Steer',
          detail: 'Your message is read after the current step',
          checked: delivery === 'steer',
          run: set('steer'),
        },
        {
          label: 'Queue',
          detail: 'Your message waits until this answer is done',
          checked: delivery === 'follow_up',
          run: set('follow_up'),
        },
      ]}
    >
      {delivery === 'steer' ? 'Steer' : 'Queue'}
    </Menu>
  );
}
