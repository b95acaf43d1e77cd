import type { ConnectorAccount } from '@onyx/sdk';

const STATES: Record<ConnectorAccount['state'], string> = {
  starting: 'Connecting',
  listening: 'Connected',
  failing: 'Not reachable; Onyx keeps trying',
  deaf: 'Silent; Onyx is reconnecting',
  unusable: 'Not set up',
  elsewhere: 'Another gateway serves this account',
};

/** The state of an account in a few words. */
export function stateOf(account: ConnectorAccount): string {
  if (account.state === 'elsewhere' && account.gateway) return `The gateway ${account.gateway} serves this account.`;
  const state = STATES[account.state];
  const silent = account.silentSeconds;
  return typeof silent === 'number' ? `${state}. Last contact ${silent} s ago.` : `${state}.`;
}

/** Whether the network answers, as far as this gateway knows. */
export function answersOf(account: ConnectorAccount): string {
  return account.state === 'elsewhere' ? 'That gateway shows whether the network answers.' : 'The network answers.';
}
