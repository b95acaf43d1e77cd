import { useEffect } from 'react';
import type { ConnectorAccount, ConnectorPeer } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { Card, Line } from '../../ui/form';
import { useLoaded } from '../../ui/useLoaded';

/** How often the server is asked for new peers while the last step is open. */
const EVERY_MS = 2000;

/** The last step: the people who wrote to the new bot, each with the code shown in their chat. */
export function Waiting({ account }: { account: ConnectorAccount }) {
  const { network, account: name } = account;
  const peers = useLoaded(`waiting/${network}/${name}`, () => onyx.connectors.peers(network, name));
  const { reload } = peers;
  useEffect(() => {
    const timer = setInterval(reload, EVERY_MS);
    return () => clearInterval(timer);
  }, [reload]);
  const approve = async (peer: ConnectorPeer) => {
    if (!(await attempt('Not approved', () => onyx.connectors.approve(peer)))) return;
    toast(`${peer.name} can talk to your agents`);
    reload();
  };
  const shown = (peers.data ?? []).filter((peer) => peer.state !== 'blocked');
  return (
    <div className="mt-4" aria-live="polite">
      {shown.length === 0 ? (
        <p className="meta">No messages yet. Write to the bot and you will appear here.</p>
      ) : (
        <Card>
          {shown.map((peer) => (
            <Line
              key={peer.id}
              label={peer.name}
              detail={peer.state === 'paired' ? 'Approved' : `Code ${peer.code ?? 'expired'}`}
            >
              {peer.state === 'waiting' && (
                <button type="button" className="btn btn-primary" onClick={() => void approve(peer)}>
                  Approve
                </button>
              )}
            </Line>
          ))}
        </Card>
      )}
    </div>
  );
}
