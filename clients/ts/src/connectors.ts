import { route } from './check.js';
import type { Http } from './http.js';
import type { Schema } from './wire.js';

/** An account on another network, and its state. */
export type ConnectorAccount = Schema<'AccountJson'>;
/** An account with its settings. */
export type ConnectorDetails = Schema<'AccountDetails'>;
/** A person or group that an account has met. */
export type ConnectorPeer = Schema<'PeerJson'>;
/** Dead letters: updates that could not be answered, and messages that may not have arrived. */
export type DeadLetter = Schema<'LetterJson'>;
/** Which agent answers whom, as the config has it. */
export type ConnectorBinding = Schema<'BindingJson'>;
/** An event that was reported to the owner. */
export type ConnectorNotice = Schema<'NoticeJson'>;
/** The result of testing a token at its network. */
export type TestedAccount = Schema<'TestedAccount'>;

const path = (network: string, account: string, rest = '') =>
  route`/api/admin/connectors/${{ network }}/${{ account }}${rest}`;

/** For the owner: accounts on other networks where agents answer. */
export class Connectors {
  constructor(private readonly http: Http) {}

  async list(): Promise<{
    networks: string[];
    accounts: ConnectorAccount[];
    bindings: ConnectorBinding[];
    notices: ConnectorNotice[];
  }> {
    return this.http.json('/api/admin/connectors');
  }

  /** Tests a token at the network before it is stored. */
  async test(network: string, token: string): Promise<TestedAccount> {
    return this.http.json('/api/admin/connectors/test', { body: { network, token } });
  }

  /** Connects an account; its token is stored as a secret. */
  async put(network: string, account: string, token: string): Promise<ConnectorAccount> {
    return this.http.json(path(network, account), { method: 'PUT', body: { token } });
  }

  async get(network: string, account: string): Promise<ConnectorDetails> {
    return this.http.json(path(network, account));
  }

  /** Tests the stored token of an account at the network. */
  async testAccount(network: string, account: string): Promise<TestedAccount> {
    return this.http.json(path(network, account, '/test'), { body: {} });
  }

  /** Approves the peer who was given this code. */
  async pair(code: string): Promise<ConnectorPeer> {
    return this.http.json('/api/admin/connectors/pair', { body: { code } });
  }

  async remove(network: string, account: string): Promise<void> {
    await this.http.response(path(network, account), { method: 'DELETE' });
  }

  async peers(network: string, account: string): Promise<ConnectorPeer[]> {
    return (await this.http.json<{ peers: ConnectorPeer[] }>(path(network, account, '/peers'))).peers;
  }

  /** `member` names the person whose agents the peer talks to; by default the owner. */
  async approve(peer: ConnectorPeer, member?: string): Promise<ConnectorPeer> {
    return this.http.json(this.peer(peer, '/approve'), { body: { member } });
  }

  /** Forgets a peer, as if the account had never met them. */
  async forget(peer: ConnectorPeer): Promise<void> {
    await this.http.response(this.peer(peer, ''), { method: 'DELETE' });
  }

  async block(peer: ConnectorPeer): Promise<ConnectorPeer> {
    return this.http.json(this.peer(peer, '/block'), { body: {} });
  }

  /** Sets the agent that answers a peer; without one the other bindings decide. */
  async bind(peer: ConnectorPeer, agent: string | null): Promise<void> {
    await this.http.response(this.peer(peer, '/agent'), { method: 'PUT', body: { agent } });
  }

  /** Sets the agent that answers everyone who writes to an account. */
  async bindAccount(network: string, account: string, agent: string | null): Promise<void> {
    await this.http.response(path(network, account, '/agent'), { method: 'PUT', body: { agent } });
  }

  async deadLetters(network: string, account: string): Promise<DeadLetter[]> {
    const found = await this.http.json<{ deadLetters: DeadLetter[] }>(path(network, account, '/dead-letters'));
    return found.deadLetters;
  }

  async retry(network: string, account: string, letter: string): Promise<void> {
    await this.http.response(path(network, account, route`/dead-letters/${{ letter }}/retry`), { body: {} });
  }

  async drop(network: string, account: string, letter: string): Promise<void> {
    await this.http.response(path(network, account, route`/dead-letters/${{ letter }}`), { method: 'DELETE' });
  }

  private peer(peer: ConnectorPeer, rest: string): string {
    return path(peer.network, peer.account, route`/peers/${{ id: peer.id }}${rest}`);
  }
}
