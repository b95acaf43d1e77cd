import type { ConnectorAccount, DeadLetter } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { Card, Line } from '../../ui/form';
import { Shown } from '../../ui/page';
import { ago } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';

/** Dead letters, which the person can send again or discard. */
export function DeadLetters({ account, changed }: { account: ConnectorAccount; changed: () => void }) {
  const { network, account: name } = account;
  const letters = useLoaded(`letters/${network}/${name}`, () => onyx.connectors.deadLetters(network, name));
  const act = async (letter: DeadLetter, verb: 'retry' | 'drop') => {
    const done = await attempt('Not changed', () => onyx.connectors[verb](network, name, letter.id).then(() => true));
    if (!done) return;
    letters.reload();
    changed();
  };
  return (
    <div className="mt-3">
      <h3 className="mb-1 font-semibold">Undelivered</h3>
      <Shown of={letters}>
        {(list) => (
          <Card>
            {list.map((letter) => (
              <Line
                key={letter.id}
                label={letter.text || 'A message'}
                detail={[letter.unknown ? 'It may have arrived' : 'Not delivered', letter.why, ago(letter.at)].join(
                  ' · ',
                )}
              >
                <button type="button" className="btn" onClick={() => void act(letter, 'retry')}>
                  {letter.unknown ? 'Send again' : 'Retry'}
                </button>
                <button type="button" className="btn btn-danger" onClick={() => void act(letter, 'drop')}>
                  Discard
                </button>
              </Line>
            ))}
          </Card>
        )}
      </Shown>
    </div>
  );
}
