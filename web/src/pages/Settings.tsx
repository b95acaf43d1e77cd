import { useId, useState, type ReactNode } from 'react';
import { signOut } from '../store/client';
import { usePreferences, type Preferences } from '../store/preferences';
import { useStore } from '../store/state';
import { Header } from '../shell/Header';
import { hueOf } from '../ui/hue';

interface Section {
  title: string;
  words: string;
  body: ReactNode;
}

export function SettingsPage() {
  const [query, setQuery] = useState('');
  const sections: Section[] = [
    { title: 'Appearance', words: 'theme light dark system', body: <Appearance /> },
    { title: 'Writing', words: 'enter send steer queue keyboard', body: <Writing /> },
    { title: 'Notifications', words: 'notify background permission', body: <Notifications /> },
    { title: 'Agents', words: 'agents models tier fallback', body: <Agents /> },
    { title: 'Providers', words: 'providers keys models config', body: <Providers /> },
    { title: 'This browser', words: 'sign out token', body: <Browser /> },
  ];
  const wanted = query.trim().toLowerCase();
  const shown = sections.filter((section) => `${section.title} ${section.words}`.toLowerCase().includes(wanted));
  return (
    <>
      <Header title="Settings" />
      <div className="flex-1 overflow-y-auto px-4 py-4 md:px-6 md:py-6">
        <div className="mx-auto max-w-[680px]">
          <input type="search" className="field mb-6" placeholder="Search settings" aria-label="Search settings" value={query} onChange={(event) => setQuery(event.target.value)} />
          {shown.map((section) => (
            <section key={section.title} className="mb-8" aria-label={section.title}>
              <h2 className="mb-2 font-semibold">{section.title}</h2>
              <div className="card divide-y divide-line">{section.body}</div>
            </section>
          ))}
          {shown.length === 0 && <p className="meta py-8 text-center">No setting is called that.</p>}
        </div>
      </div>
    </>
  );
}

function Line({ label, detail, children }: { label: ReactNode; detail?: ReactNode; children?: ReactNode }) {
  return (
    <div className="flex min-h-12 flex-wrap items-center gap-x-4 gap-y-2 px-4 py-2.5">
      <div className="min-w-0 flex-1">
        {label}
        {detail && <p className="meta">{detail}</p>}
      </div>
      {children}
    </div>
  );
}

function Radio<K extends keyof Preferences>({ label, detail, of, options }: { label: string; detail?: string; of: K; options: [Preferences[K], string][] }) {
  const value = usePreferences((preferences) => preferences[of]);
  const name = useId();
  return (
    <Line label={<span id={name}>{label}</span>} detail={detail}>
      <div role="radiogroup" aria-labelledby={name} className="flex overflow-hidden rounded-sm border border-line">
        {options.map(([option, text]) => (
          <button
            key={String(option)}
            type="button"
            role="radio"
            aria-checked={value === option}
            className={`h-8 px-3 text-[14px] max-md:h-11 ${value === option ? 'bg-accent-soft text-accent' : 'text-dim hover:bg-sunken'}`}
            onClick={() => usePreferences.setState({ [of]: option } as Partial<Preferences>)}
          >
            {text}
          </button>
        ))}
      </div>
    </Line>
  );
}

const Appearance = () => <Radio label="Theme" of="theme" options={[['system', 'System'], ['light', 'Light'], ['dark', 'Dark']]} />;

const Writing = () => (
  <>
    <Radio label="Send with" of="sendWith" options={[['enter', 'Enter'], ['mod-enter', '⌘/Ctrl Enter']]} />
    <Radio label="While an agent works" detail="Steer: it reads your words after the step under way. Queue: after its answer." of="delivery" options={[['steer', 'Steer'], ['follow_up', 'Queue']]} />
  </>
);

function Notifications() {
  const notify = usePreferences((preferences) => preferences.notify);
  const set = async (wanted: boolean) => {
    const allowed = !wanted || (await Notification.requestPermission()) === 'granted';
    usePreferences.setState({ notify: wanted && allowed });
  };
  return (
    <Line label="Answers that end in the background" detail="Your browser asks for permission once.">
      <button type="button" role="switch" aria-checked={notify} aria-label="Notify" className="btn" onClick={() => void set(!notify)}>
        {notify ? 'On' : 'Off'}
      </button>
    </Line>
  );
}

function Agents() {
  const agents = useStore((state) => state.status?.agents);
  if (!agents) return <Line label={<span className="meta">Waiting for the server.</span>} />;
  return agents.map((agent) => (
    <Line
      key={agent.id}
      label={
        <span className="flex items-center gap-2">
          <span className="dot" style={{ background: hueOf(agent.id) }} aria-hidden /> {agent.name}
          {agent.default && <span className="text-tiny text-dim">default</span>}
        </span>
      }
      detail={[agent.model ?? 'the server’s default model', ...agent.fallbacks.map((model) => `then ${model}`)].join(', ')}
    >
      <span className="chip" title="How far it may go">{agent.tier}</span>
    </Line>
  ));
}

function Providers() {
  const all = useStore((state) => state.status?.dependencies);
  const dependencies = all?.filter((one) => one.name.startsWith('provider'));
  return (
    <>
      {dependencies?.map((provider) => (
        <Line key={provider.name} label={provider.name.replace(/^provider:?\s*/, '')} detail={provider.detail}>
          <span className={`text-meta ${provider.state === 'ok' ? 'text-ok-text' : 'text-warn'}`}>{provider.state}</span>
        </Line>
      ))}
      <Line label={<span className="meta">Providers and keys are set in <code className="font-mono">onyx.json</code>; changes take effect at once. <code className="font-mono">onyx doctor</code> tests them.</span>} />
    </>
  );
}

const Browser = () => (
  <Line label="Sign out" detail="Ends this browser’s session.">
    <button type="button" className="btn" onClick={() => void signOut()}>
      Sign out
    </button>
  </Line>
);
