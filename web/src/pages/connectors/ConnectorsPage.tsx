import { useState } from 'react';
import { Plus } from 'lucide-react';
import type { ConnectorAccount } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast, useStore } from '../../store/state';
import { attempt } from '../../ui/act';
import { Card, Line, Section, Select } from '../../ui/form';
import { Confirm } from '../../ui/Modal';
import { Empty, Page, Shown } from '../../ui/page';
import { ago } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';
import { Words } from '../../ui/words';
import { AddAccount } from './AddAccount';
import { Bindings } from './Bindings';
import { DeadLetters } from './DeadLetters';
import { Peers } from './Peers';
import { answersOf, stateOf } from './words';

/** The accounts on other networks, with their peers and undelivered messages. */
export function ConnectorsPage() {
  const loaded = useLoaded('connectors', () => onyx.connectors.list());
  const [adding, setAdding] = useState(false);
  return (
    <Page
      title="Connectors"
      bar={
        <button type="button" className="btn" onClick={() => setAdding(true)}>
          <Plus size={15} aria-hidden /> Connect a network
        </button>
      }
    >
      {adding && <AddAccount close={() => setAdding(false)} done={loaded.reload} />}
      <Shown of={loaded}>
        {({ accounts, bindings, notices }) =>
          accounts.length === 0 ? (
            <div className="card">
              <Empty>
                No account is connected. Your agents can also answer on Telegram and Discord. Connecting a network takes
                four steps.
              </Empty>
            </div>
          ) : (
            <>
              {accounts.map((account) => (
                <Account key={`${account.network}/${account.account}`} account={account} reload={loaded.reload} />
              ))}
              <Bindings bindings={bindings} />
              {notices.length > 0 && (
                <Section title="Recent events" detail="Since Onyx was started.">
                  <Card>
                    {notices.map((notice) => (
                      <Line key={`${notice.at} ${notice.text}`} label={notice.text} detail={ago(notice.at)} />
                    ))}
                  </Card>
                </Section>
              )}
            </>
          )
        }
      </Shown>
    </Page>
  );
}

function Account({ account, reload }: { account: ConnectorAccount; reload: () => void }) {
  const [removing, setRemoving] = useState(false);
  const name = `${account.network}/${account.account}`;
  const remove = async (yes: boolean) => {
    setRemoving(false);
    if (!yes) return;
    const gone = await attempt('Not disconnected', () =>
      onyx.connectors.remove(account.network, account.account).then(() => true),
    );
    if (!gone) return;
    toast(`${name} is disconnected`);
    reload();
  };
  return (
    <Section title={account.name ? `${account.name} (${name})` : name} detail={stateOf(account)}>
      <Card>
        <Line
          label={<Words>{account.detail ?? answersOf(account)}</Words>}
          detail={`${account.incoming} to answer · ${account.outgoing} to send · ${account.deadLetters} undelivered`}
        >
          {account.link && (
            <a className="btn" href={account.link} target="_blank" rel="noreferrer noopener">
              Open the chat
            </a>
          )}
          <button type="button" className="btn btn-danger" onClick={() => setRemoving(true)}>
            Disconnect
          </button>
        </Line>
        <Answerer account={account} reload={reload} />
        <Peers account={account} />
      </Card>
      {account.deadLetters > 0 && <DeadLetters account={account} changed={reload} />}
      {removing && (
        <Confirm
          question={`Disconnect ${name}?`}
          detail="Onyx no longer reads or sends messages there. Conversations stay in the app."
          action="Disconnect"
          onAnswer={(yes) => void remove(yes)}
        />
      )}
    </Section>
  );
}

/** Chooses the agent that answers new peers of the account. */
function Answerer({ account, reload }: { account: ConnectorAccount; reload: () => void }) {
  const agents = useStore((state) => state.status?.agents) ?? [];
  const bind = async (agent: string) => {
    const { network, account: name } = account;
    const done = await attempt('Not changed', () => onyx.connectors.bindAccount(network, name, agent).then(() => true));
    if (!done) return;
    toast(`${agent} answers here from the next message on`);
    reload();
  };
  return (
    <Line label={`${account.agent} answers`} detail="Everyone who writes here, unless a chat below has its own agent.">
      {agents.length > 1 && (
        <Select
          label={`Who answers on ${account.network}/${account.account}`}
          value={account.agent}
          options={agents.map((agent) => [agent.id, agent.name])}
          onChange={(agent) => void bind(agent)}
        />
      )}
    </Line>
  );
}
