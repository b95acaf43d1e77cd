import { useEffect } from 'react';
import type { Agent, Channel, Fault } from '@onyx/sdk';
import { create } from 'zustand';
import { faultOf, onyx } from '../../store/client';
import { useStore } from '../../store/state';
import type { Loaded } from '../../ui/useLoaded';

interface Known {
  channels?: Channel[];
  fault?: Fault;
}

/** The one list of channels for the navigation and the pages. */
const useKnown = create<Known>(() => ({}));

let asking: Promise<void> | undefined;

export function refreshChannels(): Promise<void> {
  asking ??= onyx.channels
    .list()
    .then(
      (channels) => useKnown.setState({ channels, fault: undefined }),
      (error: unknown) => useKnown.setState({ fault: faultOf(error) }),
    )
    .finally(() => (asking = undefined));
  return asking;
}

export function useChannels(): Loaded<Channel[]> {
  const { channels: data, fault } = useKnown();
  const online = useStore((state) => state.link === 'online');
  useEffect(() => {
    if (online) void refreshChannels();
  }, [online]);
  return { data, fault, loading: data === undefined && fault === undefined, reload: () => void refreshChannels() };
}

/** Puts a changed channel into the list without loading the whole list. */
export function keepChannel(channel: Channel): void {
  useKnown.setState(({ channels = [] }) => ({
    channels: channels.some((known) => known.id === channel.id)
      ? channels.map((known) => (known.id === channel.id ? channel : known))
      : [...channels, channel],
  }));
}

export function dropChannel(id: string): void {
  useKnown.setState(({ channels = [] }) => ({ channels: channels.filter((known) => known.id !== id) }));
}

/** The coworkers of a channel, and the one who answers if a message calls no one. */
export function useCoworkers(channel: Channel | undefined): { coworkers: Agent[]; usual?: Agent } {
  const agents = useStore((state) => state.status?.agents) ?? [];
  const assigned = channel?.coworkers.flatMap(({ agent }) => agents.find((known) => known.id === agent) ?? []) ?? [];
  const primary = channel?.coworkers.find((coworker) => coworker.primary)?.agent;
  // In a channel without coworkers, any agent may be called.
  const coworkers = assigned.length > 0 ? assigned : agents;
  return {
    coworkers,
    usual: assigned.find((agent) => agent.id === primary) ?? assigned[0] ?? agents.find((agent) => agent.default),
  };
}
