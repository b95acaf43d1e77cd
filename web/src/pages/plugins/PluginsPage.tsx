import { useState } from 'react';
import { Plus } from 'lucide-react';
import type { Plugin } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { Field, Form } from '../../ui/form';
import { Modal } from '../../ui/Modal';
import { Empty, Page, Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { useLookedAt } from '../../ui/useLookedAt';
import { PluginSection } from './PluginSection';

/** The plugins. What each asks for is shown before it can be accepted. */
export function PluginsPage() {
  const plugins = useLoaded('plugins', () => onyx.plugins.list());
  const [adding, setAdding] = useState(false);
  // A program sends no notice when its start or restart is finished, so the list is polled.
  const isMoving = ({ enabled, status }: Plugin) => enabled && (status === 'starting' || status === 'failing');
  useLookedAt(plugins.data?.some(isMoving) ?? false, plugins.reload);
  const done = (said?: string) => {
    setAdding(false);
    if (said) toast(said);
    plugins.reload();
  };
  const add = async (field: (name: string) => string) => {
    const added = await onyx.plugins.add({ git: field('address') });
    done(`${added.name} added. Accept it when you have read what it asks for.`);
  };
  return (
    <Page
      title="Plugins"
      bar={
        <button type="button" className="btn" onClick={() => setAdding(true)}>
          <Plus size={15} aria-hidden /> Add
        </button>
      }
    >
      <Shown of={plugins}>
        {(list) =>
          list.length === 0 ? (
            <div className="card">
              <Empty>
                No plugins yet. Add one from a git repository, or with <code>onyx plugins add</code>.
              </Empty>
            </div>
          ) : (
            list.map((plugin) => <PluginSection key={plugin.name} plugin={plugin} done={done} />)
          )
        }
      </Shown>
      {adding && (
        <Modal label="Add a plugin" onClose={() => setAdding(false)} className="max-w-105">
          <Form action="Add" onSubmit={add} onCancel={() => setAdding(false)}>
            <Field
              label="Address of a git repository"
              name="address"
              type="url"
              required
              autoFocus
              hint="It does nothing until you accept it. To add a folder or ZIP file, run `onyx plugins add`."
            />
          </Form>
        </Modal>
      )}
    </Page>
  );
}
