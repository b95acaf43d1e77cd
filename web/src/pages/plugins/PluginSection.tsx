import { useState } from 'react';
import type { Plugin } from '@onyx/sdk';
import { Diff } from '../../chat/Diff';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { Section, Switch } from '../../ui/form';
import { Confirm } from '../../ui/Modal';
import { Words } from '../../ui/words';
import { PluginSettings } from './PluginSettings';
import { asksFor, STATES, STATUSES } from './words';

/** How many of the newest lines of its log are shown with a plugin that fails. */
const LAST_WORDS = 3;

interface PluginProps {
  plugin: Plugin;
  /** Takes what the person is then told. */
  done: (said?: string) => void;
}

/** A plugin: what it asks for, its settings, its log, and what can be done with it. */
export function PluginSection({ plugin, done }: PluginProps) {
  const [removing, setRemoving] = useState(false);
  const remove = async (yes: boolean) => {
    setRemoving(false);
    if (yes && (await attempt('Not removed', () => onyx.plugins.remove(plugin.name).then(() => true))))
      done(`${plugin.name} was removed`);
  };
  const waits = doesWait(plugin);
  return (
    <Section
      title={plugin.name}
      detail={<About plugin={plugin} />}
      action={<Buttons plugin={plugin} done={done} onRemove={() => setRemoving(true)} />}
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

/** Whether it does nothing until a person accepts it as it is now. */
const doesWait = ({ state }: Plugin) => state === 'new' || state === 'changed';

function About({ plugin }: { plugin: Plugin }) {
  const fails = plugin.enabled && (plugin.status === 'failing' || plugin.status === 'parked');
  const lastWords = plugin.log.slice(-LAST_WORDS).join('\n');
  const state = plugin.enabled && plugin.state === 'accepted' ? STATUSES[plugin.status] : STATES[plugin.state];
  return (
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
  );
}

function Buttons({ plugin, done, onRemove }: PluginProps & { onRemove: () => void }) {
  const accept = async () => {
    if (await attempt('Not accepted', () => onyx.plugins.accept(plugin.name, plugin.hash ?? '')))
      done(`${plugin.name} accepted`);
  };
  const switchTo = async (on: boolean) => {
    const change = () => (on ? onyx.plugins.enable(plugin.name) : onyx.plugins.disable(plugin.name));
    if (await attempt('Not changed', change)) done();
  };
  return (
    <div className="flex flex-wrap items-center gap-2">
      {doesWait(plugin) && (
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
      <button type="button" className="btn btn-danger" aria-label={`Remove ${plugin.name}`} onClick={onRemove}>
        Remove
      </button>
    </div>
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
