import { useState } from 'react';
import type { TestedAccount } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { Field, Form } from '../../ui/form';
import { Sheet } from '../settings/People';

/** Four steps from nothing to a bot that answers: make it, test its token, open the chat, let yourself in. */
export function AddAccount({ close, done }: { close: () => void; done: () => void }) {
  const [tested, setTested] = useState<TestedAccount & { token: string; account: string }>();
  if (tested) return <Connected tested={tested} close={close} done={done} />;
  return (
    <Sheet title="Connect Telegram" close={close}>
      <ol className="meta mb-4 list-decimal pl-5">
        <li>
          In Telegram, write to{' '}
          <a className="text-accent underline" href="https://t.me/BotFather" target="_blank" rel="noreferrer noopener">
            @BotFather
          </a>
          , send <code>/newbot</code> and choose a name.
        </li>
        <li>Paste the token that it gives you. Onyx asks Telegram whether it is good and keeps it encrypted.</li>
        <li>Open the chat with your bot and write something.</li>
        <li>You get a code there; approve yourself on this page.</li>
      </ol>
      <Form
        action="Test the token"
        onCancel={close}
        onSubmit={async (field) => {
          const [token, account] = [field('token'), field('account') || 'main'];
          setTested({ ...(await onyx.connectors.test('telegram', token)), token, account });
        }}
      >
        <Field label="Token" name="token" type="password" required autoComplete="off" placeholder="123456:ABC…" />
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

function Connected({
  tested,
  close,
  done,
}: {
  tested: TestedAccount & { token: string; account: string };
  close: () => void;
  done: () => void;
}) {
  return (
    <Sheet title={`The token is good: ${tested.name}`} close={close}>
      {tested.link && (
        <p className="meta mb-4">
          After connecting, open{' '}
          <a className="text-accent underline" href={tested.link} target="_blank" rel="noreferrer noopener">
            {tested.link}
          </a>{' '}
          and write something. You will find yourself below the account, waiting to be approved.
        </p>
      )}
      <Form
        action="Connect"
        onCancel={close}
        onSubmit={async () => {
          await onyx.connectors.put('telegram', tested.account, tested.token);
          toast(`${tested.name} is connected`);
          done();
          close();
        }}
      >
        {null}
      </Form>
    </Sheet>
  );
}
