import { useState } from 'react';
import { Plus } from 'lucide-react';
import type { Provider, ProviderTest } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { Card, Section } from '../../ui/form';
import { Empty, Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { DefaultModel } from './DefaultModel';
import { FoundLine } from './Found';
import { useFound } from './logins';
import { ProviderForm } from './ProviderForm';
import { ProviderLine } from './ProviderLine';

export function Providers() {
  const providers = useLoaded('providers', () => onyx.admin.providers());
  const found = useFound(providers.data !== undefined);
  const [editing, setEditing] = useState<Provider | 'new'>();
  // The results of tests made while adding.
  const [tried, setTried] = useState<Record<string, ProviderTest>>({});
  const again = () => (providers.reload(), found.reload());
  const done = () => {
    setEditing(undefined);
    again();
  };
  return (
    <>
      <Section
        title="Providers"
        detail="Where models come from. Keys are stored encrypted and never shown again."
        action={
          <button type="button" className="btn" onClick={() => setEditing('new')}>
            <Plus size={15} aria-hidden /> Add
          </button>
        }
      >
        <Shown of={providers}>
          {(list) =>
            list.length === 0 ? (
              <div className="card">
                <Empty>No providers connected.</Empty>
              </div>
            ) : (
              <Card>
                {list.map((provider) => (
                  <ProviderLine
                    key={provider.name}
                    provider={provider}
                    tried={tried[provider.name]}
                    onEdit={() => setEditing(provider)}
                    onChange={again}
                  />
                ))}
              </Card>
            )
          }
        </Shown>
        {providers.data && (
          <Shown of={found} rows={0}>
            {(list) =>
              list.length > 0 && (
                <div className="mt-4">
                  <Card>
                    {list.map((one) => (
                      <FoundLine
                        key={one.name}
                        found={one}
                        action="Add"
                        onAdded={(test) => (setTried({ ...tried, [one.name]: test }), again())}
                      />
                    ))}
                  </Card>
                </div>
              )
            }
          </Shown>
        )}
        {editing && (
          <ProviderForm
            provider={editing === 'new' ? undefined : editing}
            close={() => setEditing(undefined)}
            done={done}
          />
        )}
      </Section>
      <DefaultModel providers={providers.data} />
    </>
  );
}
