import { useState } from 'react';
import type { ConnectorAccount, TestedAccount } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { Choices, Field, Form } from '../../ui/form';
import { Sheet } from '../../ui/Modal';
import { NETWORKS, type Network } from './networks';
import { QrCode } from './QrCode';
import { Waiting } from './Waiting';

type Tested = TestedAccount & { token: string; account: string };

/** Four steps to a bot that answers: create it, test its token, open the chat, approve yourself. */
export function AddAccount({ close, done }: { close: () => void; done: () => void }) {
  const [network, setNetwork] = useState<Network>(NETWORKS[0]);
  const [tested, setTested] = useState<Tested>();
  const [connected, setConnected] = useState<ConnectorAccount>();
  if (connected) return <OpenTheChat network={network} account={connected} tested={tested} close={close} />;
  if (tested) {
    const connect = async () => {
      setConnected(await onyx.connectors.put(network.id, tested.account, tested.token));
      toast(`${tested.name} is connected`);
      done();
    };
    return (
      <Sheet title="Step 2 of 4: connect the bot" close={close}>
        <p className="meta mb-4">
          The token works: it belongs to <b>{tested.name}</b>. Onyx stores it encrypted, outside the configuration.
        </p>
        <Form action="Connect" onCancel={close} onSubmit={connect}>
          {null}
        </Form>
      </Sheet>
    );
  }
  const test = async (field: (name: string) => string) => {
    const [token, account] = [field('token'), field('account') || 'main'];
    setTested({ ...(await onyx.connectors.test(network.id, token)), token, account });
  };
  return (
    <Sheet title="Step 1 of 4: create a bot" close={close}>
      <Choices
        label="Network"
        value={network.id}
        options={NETWORKS.map((each) => [each.id, each.name])}
        onChange={(id) => setNetwork(NETWORKS.find((each) => each.id === id) ?? network)}
      />
      <p className="meta my-4">{network.make}</p>
      <Form action="Test the token" onCancel={close} onSubmit={test}>
        <Field
          label="Token"
          name="token"
          type="password"
          required
          autoComplete="off"
          placeholder={network.placeholder}
        />
        <Field
          label="Name of the account"
          name="account"
          defaultValue="main"
          pattern="[a-z0-9_\-]+"
          hint="a-z, 0-9, - and _"
        />
      </Form>
    </Sheet>
  );
}

function OpenTheChat({
  network,
  account,
  tested,
  close,
}: {
  network: Network;
  account: ConnectorAccount;
  tested?: Tested;
  close: () => void;
}) {
  return (
    <Sheet title="Steps 3 and 4: open the chat, approve yourself" close={close}>
      <p className="meta mb-3">{network.open}</p>
      {tested?.qr && <QrCode qr={tested.qr} label={`A link to ${tested.name} for your phone`} />}
      {tested?.link && (
        <p className="mt-3 [overflow-wrap:anywhere]">
          <a className="text-accent underline" href={tested.link} target="_blank" rel="noreferrer noopener">
            {tested.link}
          </a>
        </p>
      )}
      <Waiting account={account} />
      <div className="mt-4 flex justify-end">
        <button type="button" className="btn btn-primary" onClick={close}>
          Done
        </button>
      </div>
    </Sheet>
  );
}
