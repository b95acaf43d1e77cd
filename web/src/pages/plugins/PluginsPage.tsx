import { useState } from 'react';
import { Plus } from 'lucide-react';
import type { Plugin } from '@onyx/sdk';
import { Diff } from '../../chat/Diff';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { Field, Form, Section, Switch } from '../../ui/form';
import { Confirm, Modal } from '../../ui/Modal';
import { Empty, Page, Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { useLookedAt } from '../../ui/useLookedAt';
import { Words } from '../../ui/words';
import { PluginSettings } from './PluginSettings';
import { asksFor, STATES, STATUSES } from './words';

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

/** The plugin's log: its own output and its restarts. */
const LAST_WORDS = 3;

function PluginSection({ plugin, done }: { plugin: Plugin; done: (said?: string) => void }) {
  const [removing, setRemoving] = useState(false);
  const waits = plugin.state === 'new' || plugin.state === 'changed';
  const accept = async () => {
    if (await attempt('Not accepted', () => onyx.plugins.accept(plugin.name, plugin.hash ?? '')))
      done(`${plugin.name} accepted`);
  };
  const switchTo = async (on: boolean) => {
    const change = () => (on ? onyx.plugins.enable(plugin.name) : onyx.plugins.disable(plugin.name));
    if (await attempt('Not changed', change)) done();
  };
  const remove = async (yes: boolean) => {
    setRemoving(false);
    if (yes && (await attempt('Not removed', () => onyx.plugins.remove(plugin.name).then(() => true))))
      done(`${plugin.name} was removed`);
  };
  const fails = plugin.enabled && (plugin.status === 'failing' || plugin.status === 'parked');
  const lastWords = plugin.log.slice(-LAST_WORDS).join('\n');
  const state = plugin.enabled && plugin.state === 'accepted' ? STATUSES[plugin.status] : STATES[plugin.state];
  return (
    <Section
      title={plugin.name}
      detail={
        <>
          {[plugin.version, state].filter(Boolean).join(' · ')}
          {plugin.description && <span className="block">{plugin.description}</span>}
          {plugin.problems.map((problem) => (
            <span key={problem} className="block text-danger">
              <Words>{problem}</Words>
            </span>
          ))}
          {fails && lastWords && (
            <span className="block text-danger">
              Its last words: <code className="block font-mono whitespace-pre-wrap">{lastWords}</code>
            </span>
          )}
        </>
      }
      action={
        <div className="flex flex-wrap items-center gap-2">
          {waits && (
            <button type="button" className="btn btn-primary" onClick={() => void accept()}>
              Accept
            </button>
          )}
          {plugin.enabled && plugin.status === 'parked' && (
            <button type="button" className="btn" onClick={() => void switchTo(true)}>
              Restart
            </button>
          )}
          {(plugin.enabled || plugin.state === 'accepted') && (
            <Switch label={`${plugin.name} is on`} on={plugin.enabled} onChange={(on) => void switchTo(on)} />
          )}
          <button
            type="button"
            className="btn btn-danger"
            aria-label={`Remove ${plugin.name}`}
            onClick={() => setRemoving(true)}
          >
            Remove
          </button>
        </div>
      }
    >
      <Asks plugin={plugin} waits={waits} />
      {plugin.configSchema && <PluginSettings plugin={plugin} done={done} />}
      {waits && plugin.diff && (
        <details className="mt-2">
          <summary className="meta cursor-pointer">What you accept: its manifest, and the hash of each file</summary>
          <Diff lines={plugin.diffLines ?? []} label={`Manifest of ${plugin.name}`} />
        </details>
      )}
      {plugin.log.length > 0 && (
        <details className="mt-2">
          <summary className="meta cursor-pointer">Log</summary>
          <pre className="overflow-x-auto text-meta" tabIndex={0} aria-label={`Log of ${plugin.name}`}>
            {plugin.log.join('\n')}
          </pre>
        </details>
      )}
      {removing && (
        <Confirm
          question={`Remove ${plugin.name}?`}
          detail="Its settings and data are deleted too. Skills that came with it stay in your vault."
          action="Remove"
          onAnswer={(yes) => void remove(yes)}
        />
      )}
    </Section>
  );
}

function Asks({ plugin, waits }: { plugin: Plugin; waits: boolean }) {
  const all = asksFor(plugin);
  return (
    <div className="card px-4 py-3">
      <p className="meta">{waits ? 'If you accept it, it can:' : 'It can:'}</p>
      {all.length === 0 ? (
        <p>Use its own files, nothing else.</p>
      ) : (
        <ul className="list-disc pl-5">
          {all.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
    </div>
  );
}
