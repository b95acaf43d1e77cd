import type { Http } from './http';
import type { Schema } from './wire';

/** An account on another network, and how it is. */
export type ConnectorAccount = Schema<'AccountJson'>;
/** Somebody that an account has met. */
export type ConnectorPeer = Schema<'PeerJson'>;
/** What nobody could answer, or what may not have arrived. */
export type DeadLetter = Schema<'LetterJson'>;
/** Which agent answers whom, as the config has it. */
export type ConnectorBinding = Schema<'BindingJson'>;
/** Something that the owner was told. */
export type ConnectorNotice = Schema<'NoticeJson'>;
/** What a network says of a token. */
export type TestedAccount = Schema<'TestedAccount'>;

const path = (network: string, account: string, rest = '') =>
  `/api/admin/connectors/${encodeURIComponent(network)}/${encodeURIComponent(account)}${rest}`;

/** For the owner: where agents talk beside the app. */
export class Connectors {
  constructor(private readonly http: Http) {}

  list(): Promise<{
    networks: string[];
    accounts: ConnectorAccount[];
    bindings: ConnectorBinding[];
    notices: ConnectorNotice[];
  }> {
    return this.http.json('/api/admin/connectors');
  }

  /** Asks the network about a token before it is kept. */
  test(network: string, token: string): Promise<TestedAccount> {
    return this.http.json('/api/admin/connectors/test', { body: { network, token } });
  }

  /** Connects an account; the token goes into the store of secrets. */
  put(network: string, account: string, token: string): Promise<ConnectorAccount> {
    return this.http.json(path(network, account), { method: 'PUT', body: { token } });
  }

  async remove(network: string, account: string): Promise<void> {
    await this.http.response(path(network, account), { method: 'DELETE' });
  }

  async peers(network: string, account: string): Promise<ConnectorPeer[]> {
    return (await this.http.json<{ peers: ConnectorPeer[] }>(path(network, account, '/peers'))).peers;
  }

  approve(peer: ConnectorPeer): Promise<ConnectorPeer> {
    return this.http.json(this.peer(peer, '/approve'), { body: {} });
  }

  block(peer: ConnectorPeer): Promise<ConnectorPeer> {
    return this.http.json(this.peer(peer, '/block'), { body: {} });
  }

  /** Which agent answers a peer; without one the other bindings decide. */
  async bind(peer: ConnectorPeer, agent: string | null): Promise<void> {
    await this.http.response(this.peer(peer, '/agent'), { method: 'PUT', body: { agent } });
  }

  /** Which agent answers whoever writes to an account. */
  async bindAccount(network: string, account: string, agent: string | null): Promise<void> {
    await this.http.response(path(network, account, '/agent'), { method: 'PUT', body: { agent } });
  }

  async deadLetters(network: string, account: string): Promise<DeadLetter[]> {
    const found = await this.http.json<{ deadLetters: DeadLetter[] }>(path(network, account, '/dead-letters'));
    return found.deadLetters;
  }

  async retry(network: string, account: string, letter: string): Promise<void> {
    await this.http.response(path(network, account, `/dead-letters/${letter}/retry`), { body: {} });
  }

  async drop(network: string, account: string, letter: string): Promise<void> {
    await this.http.response(path(network, account, `/dead-letters/${letter}`), { method: 'DELETE' });
  }

  private peer(peer: ConnectorPeer, rest: string): string {
    return path(peer.network, peer.account, `/peers/${encodeURIComponent(peer.id)}${rest}`);
  }
}
