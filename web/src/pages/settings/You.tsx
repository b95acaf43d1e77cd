import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { AgentRuntime } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { ACTIONS_FOLDER, refreshActions, useActions } from '../../store/registry';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { Card, Choices as Options, Field, Form, Line, Section, Switch } from '../../ui/form';
import { Modal } from '../../ui/Modal';
import { ErrorLine, Shown, Skeletons } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { LinkedIn } from './LinkedIn';

const CREDENTIALS: Record<string, string> = {
  session: 'Signed in with this browser',
  token: 'Signed in with an access token',
  owner_token: 'Signed in with the owner’s token',
  password: 'Signed in with a password',
};

export function You() {
  const me = useLoaded('me', () => onyx.me());
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Section title="You">
        <Shown of={me} rows={2}>
          {(person) => (
            <Card>
              <Line label={person.name ?? person.person} detail={CREDENTIALS[person.credential] ?? 'Signed in'}>
                <span className="chip">{person.role}</span>
              </Line>
              <Line label="Password" detail="For browsers that are not on this machine.">
                <button type="button" className="btn" onClick={() => setAsking(true)}>
                  Change password
                </button>
              </Line>
            </Card>
          )}
        </Shown>
      </Section>
      <Section title="For your agents" detail="Plain files. Every version is kept.">
        <Card>
          <FileLine path="USER.md" label="About you" detail="What every agent should know about you." />
          <FileLine path="vault/agents.md" label="Standing instructions" detail="Instructions for every agent." />
        </Card>
      </Section>
      <Answering />
      <LinkedIn />
      <Actions />
      {asking && <ChangePassword close={() => setAsking(false)} />}
    </>
  );
}

function FileLine({ path, label, detail }: { path: string; label: string; detail: string }) {
  return (
    <Line label={label} detail={detail}>
      <Link to="/memory" search={{ path }} className="btn" aria-label={`Open ${label}`}>
        Open
      </Link>
    </Line>
  );
}

function Answering() {
  const choices = useLoaded('choices', () => onyx.preferences.get());
  const health = useLoaded('agent health', () => onyx.preferences.health());
  const set = async (change: Parameters<typeof onyx.preferences.set>[0]) => {
    if (!(await attempt('Not changed', () => onyx.preferences.set(change)))) return;
    toast('Saved');
    choices.reload();
    health.reload();
  };
  return (
    <Section title="How your agents run">
      <Shown of={choices} rows={2}>
        {({ runtimeMode, fallback, timezone, currentTimezone }) => (
          <Card>
            <Line
              label="Time zone"
              detail={`Used for days, daily notes, jobs and budgets. ${timezone ? '' : 'Now the server’s: '}${currentTimezone}.`}
            >
              <TimeZone key={timezone ?? ''} value={timezone ?? ''} onChange={(zone) => void set({ timezone: zone })} />
            </Line>
            <Line
              label="Runtime"
              detail={
                <>
                  Keys: the providers’ API keys. Subscription: uses the account that Claude Code is signed in to on the
                  server.
                  {runtimeMode !== 'anthropic_api_key' && health.data && (
                    <RuntimeHealth runtime={health.data.runtime} />
                  )}
                </>
              }
            >
              <Options
                label="Runtime"
                value={runtimeMode}
                options={[
                  ['anthropic_api_key', 'Keys'],
                  ['gateway_subscription', 'Subscription'],
                ]}
                onChange={(mode) => void set({ runtimeMode: mode })}
              />
            </Line>
            <Line label="Fall back" detail="If the chosen runtime cannot answer, the other one answers and says so.">
              <Switch label="Fall back" on={fallback} onChange={(on) => void set({ fallback: on })} />
            </Line>
          </Card>
        )}
      </Shown>
    </Section>
  );
}

/** The state of the subscription: its account, or what is missing. */
function RuntimeHealth({ runtime }: { runtime: AgentRuntime }) {
  const works = runtime.state === 'ok';
  return (
    <span role="status" className={`mt-1 block ${works ? 'text-ok-text' : 'text-warn'}`}>
      {works ? `Works: ${runtime.detail ?? 'ready'}` : (runtime.detail ?? 'The runtime cannot answer now.')}
    </span>
  );
}

/** A time zone that the browser knows; empty for the server's. */
function TimeZone({ value, onChange }: { value: string; onChange: (zone: string) => void }) {
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <select
      aria-label="Time zone"
      className="field w-auto max-w-60 truncate pr-8"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">The server’s</option>
      {[...new Set([here, value, ...Intl.supportedValuesOf('timeZone')])].filter(Boolean).map((name) => (
        <option key={name} value={name}>
          {name === here ? `${name} (this device)` : name}
        </option>
      ))}
    </select>
  );
}

/** The action files of the vault, with a button to reload them. */
function Actions() {
  const { phase, actions, fault } = useActions();
  return (
    <Section
      title="Actions"
      detail={`Prompt files in ${ACTIONS_FOLDER} of your vault.`}
      action={
        <button type="button" className="btn" onClick={() => void refreshActions()}>
          Refresh
        </button>
      }
    >
      {fault && <ErrorLine fault={fault} action={{ label: 'Retry', run: () => void refreshActions() }} />}
      {phase === 'loading' && <Skeletons rows={1} />}
      {phase === 'ready' && (
        <Card>
          {actions.length === 0 && (
            <Line label={<span className="meta">No actions yet. A markdown file in that folder becomes one.</span>} />
          )}
          {actions.map((action) => (
            <Line
              key={action.id}
              label={action.label}
              detail={
                action.error ? (
                  <span data-of-file className="text-warn">
                    {action.error}
                  </span>
                ) : (
                  (action.warnings?.length && <span data-of-file>{action.warnings.join(' ')}</span>) ||
                  (action.requiresConfirmation ? 'Asks before it runs' : undefined)
                )
              }
            />
          ))}
          <Line label="Run, view or create actions">
            <Link to="/actions" className="btn">
              Open actions
            </Link>
          </Line>
        </Card>
      )}
    </Section>
  );
}

function ChangePassword({ close }: { close: () => void }) {
  const save = async (field: (name: string) => string) => {
    await onyx.setPassword(field('password'), field('current') || undefined);
    close();
    toast('Password changed. Other browsers must sign in again.');
  };
  return (
    <Modal label="Change password" onClose={close} className="max-w-105">
      <div className="p-5">
        <h2 className="mb-3 font-semibold">Change password</h2>
        <Form action="Change" onSubmit={save} onCancel={close}>
          <Field
            label="Current password"
            name="current"
            type="password"
            autoComplete="current-password"
            hint="Leave empty if you have none yet."
            autoFocus
          />
          <Field
            label="New password"
            name="password"
            type="password"
            autoComplete="new-password"
            minLength={8}
            required
            hint="At least eight characters."
          />
        </Form>
      </div>
    </Modal>
  );
}
