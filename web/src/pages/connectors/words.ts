import type { ConnectorAccount } from '@onyx/sdk';

const STATES: Record<ConnectorAccount['state'], string> = {
  starting: 'Connecting',
  listening: 'Connected',
  failing: 'Not reachable; Onyx keeps trying',
  deaf: 'Silent; Onyx is reconnecting',
  unusable: 'Not set up',
};

/** The state of an account in a few words. */
export function stateOf(account: ConnectorAccount): string {
  const state = STATES[account.state];
  const silent = account.silentSeconds;
  return typeof silent === 'number' ? `${state}. Last contact ${silent} s ago.` : `${state}.`;
}
