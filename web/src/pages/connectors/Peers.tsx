import type { ConnectorAccount, ConnectorPeer } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast, useStore } from '../../store/state';
import { attempt } from '../../ui/act';
import { Line, Select } from '../../ui/form';
import { ago } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';

const STATES: Record<ConnectorPeer['state'], string> = {
  waiting: 'waiting for approval',
  paired: 'paired',
  blocked: 'blocked',
};

/** The peers of the account; those waiting for approval come first. */
export function Peers({ account }: { account: ConnectorAccount }) {
  const { network, account: name } = account;
  const agents = useStore((state) => state.status?.agents) ?? [];
  const peers = useLoaded(`peers/${network}/${name}`, () => onyx.connectors.peers(network, name));
  const act = async (peer: ConnectorPeer, verb: 'approve' | 'block') => {
    const done = await attempt('Not changed', () => onyx.connectors[verb](peer));
    if (!done) return;
    toast(verb === 'approve' ? `${peer.name} can talk to your agents` : `${peer.name} is blocked`);
    peers.reload();
  };
  const bind = async (peer: ConnectorPeer, agent: string) => {
    const done = await attempt('Not changed', () => onyx.connectors.bind(peer, agent).then(() => true));
    if (!done) return;
    toast(`${agent} answers ${peer.name} from the next message on`);
    peers.reload();
  };
  const all = [...(peers.data ?? [])].sort((a, b) => Number(b.state === 'waiting') - Number(a.state === 'waiting'));
  return (
    <>
      {all.map((peer) => (
        <Line
          key={peer.id}
          label={peer.name}
          detail={[
            peer.kind === 'group' ? 'group' : undefined,
            STATES[peer.state],
            peer.state === 'paired' && `${peer.agent} answers`,
            peer.code && `code ${peer.code}`,
            `seen ${ago(peer.lastSeen)}`,
          ]
            .filter(Boolean)
            .join(' · ')}
        >
          {peer.state === 'paired' && agents.length > 1 && (
            <Select
              label={`Who answers ${peer.name}`}
              value={peer.agent}
              options={agents.map((agent) => [agent.id, agent.name])}
              onChange={(agent) => void bind(peer, agent)}
            />
          )}
          {peer.state !== 'paired' && (
            <button
              type="button"
              className="btn"
              aria-label={`Approve ${peer.name}`}
              onClick={() => void act(peer, 'approve')}
            >
              Approve
            </button>
          )}
          {peer.state !== 'blocked' && (
            <button
              type="button"
              className="btn btn-danger"
              aria-label={`Block ${peer.name}`}
              onClick={() => void act(peer, 'block')}
            >
              Block
            </button>
          )}
        </Line>
      ))}
    </>
  );
}
