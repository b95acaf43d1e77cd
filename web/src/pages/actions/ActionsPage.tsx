import { useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { Eye, FileText, MoreHorizontal, Play, Plus, RefreshCw } from 'lucide-react';
import type { Action } from '@onyx/sdk';
import {
  ACTIONS_FOLDER,
  chooseAction,
  isOver,
  previewAction,
  refreshActions,
  runOf,
  useActions,
  useRegistry,
} from '../../store/registry';
import { toast, useStore } from '../../store/state';
import { Card, Section } from '../../ui/form';
import { Menu } from '../../ui/Menu';
import { Empty, ErrorLine, Page, Skeletons } from '../../ui/page';
import { NewAction } from './NewAction';
import { PastRuns } from './PastRuns';
import { Timeline } from './Timeline';

/** The person's actions, their active runs and past runs. */
export function ActionsPage() {
  const [making, setMaking] = useState(false);
  const refresh = () => void refreshActions().then(() => toast('Refreshed'));
  return (
    <Page
      title="Actions"
      bar={
        <>
          <button type="button" className="icon-btn" aria-label="Refresh" title="Refresh" onClick={refresh}>
            <RefreshCw size={16} aria-hidden />
          </button>
          <button type="button" className="btn" onClick={() => setMaking(true)}>
            <Plus size={15} aria-hidden /> New action
          </button>
        </>
      }
    >
      <Section
        title="Actions"
        detail={`Prompt files in ${ACTIONS_FOLDER} of your vault. They also appear beside every composer and in the command palette.`}
      >
        <List onNew={() => setMaking(true)} />
      </Section>
      <PastRuns />
      {making && <NewAction close={() => setMaking(false)} />}
    </Page>
  );
}

function List({ onNew }: { onNew: () => void }) {
  const { phase, actions, fault } = useActions();
  const offline = useStore((state) => state.link !== 'online');
  const failed = fault && <ErrorLine fault={fault} action={{ label: 'Retry', run: () => void refreshActions() }} />;
  if (phase === 'failed') return failed;
  if (phase === 'loading')
    return offline ? (
      <Empty>Not connected to Onyx. This page loads when the connection is back.</Empty>
    ) : (
      <Skeletons rows={3} />
    );
  if (actions.length === 0) {
    return (
      <div className="card">
        <Empty>
          No actions yet.{' '}
          <button type="button" className="text-accent underline underline-offset-3" onClick={onNew}>
            Create one
          </button>
        </Empty>
      </div>
    );
  }
  return (
    <>
      {failed}
      <Card>
        {actions.map((action) => (
          <ActionRow key={action.id} action={action} />
        ))}
      </Card>
    </>
  );
}

function ActionRow({ action }: { action: Action }) {
  const navigate = useNavigate();
  const run = useRegistry((registry) => runOf(registry, action.id, 'real'));
  const open = () => navigate({ to: '/memory', search: { path: action.path } });
  const busy = run !== undefined && !isOver(run);
  return (
    <div>
      <div className="flex min-h-13 items-center gap-x-2 px-4 py-2.5">
        <div className="min-w-0 flex-1 [overflow-wrap:anywhere]">
          <h3 dir="auto">{action.label}</h3>
          <div className="meta">
            <About action={action} />
          </div>
        </div>
        <button
          type="button"
          className="icon-btn max-sm:hidden"
          aria-label={`Open the file of ${action.label}`}
          title="Open the file"
          onClick={() => void open()}
        >
          <FileText size={16} aria-hidden />
        </button>
        <button
          type="button"
          className="icon-btn max-sm:hidden"
          aria-label={`Preview ${action.label}`}
          title="Preview: see what it would do"
          disabled={Boolean(action.error)}
          onClick={() => previewAction(action)}
        >
          <Eye size={16} aria-hidden />
        </button>
        <Menu
          label={`More for ${action.label}`}
          className="icon-btn sm:hidden"
          entries={[
            ...(action.error
              ? []
              : [
                  {
                    label: 'Preview',
                    detail: 'See what it would do',
                    icon: <Eye size={16} aria-hidden />,
                    run: () => previewAction(action),
                  },
                ]),
            { label: 'Open the file', icon: <FileText size={16} aria-hidden />, run: () => void open() },
          ]}
        >
          <MoreHorizontal size={16} aria-hidden />
        </Menu>
        <button
          type="button"
          className="btn"
          aria-label={`Run ${action.label}`}
          disabled={Boolean(action.error) || busy}
          onClick={() => void chooseAction(action)}
        >
          <Play size={13} aria-hidden /> Run
        </button>
      </div>
      {run && <Timeline run={run} label={action.label} />}
    </div>
  );
}

function About({ action }: { action: Action }) {
  // Errors name keys of the person's file.
  if (action.error)
    return (
      <span data-of-file className="text-danger">
        Does not run: {action.error}
      </span>
    );
  const facts = [
    action.requiresConfirmation && 'Asks before it runs',
    action.maxSteps && `at most ${action.maxSteps} ${action.maxSteps === 1 ? 'step' : 'steps'}`,
  ]
    .filter(Boolean)
    .join(' · ');
  return (
    <>
      {facts}
      {action.warnings?.map((warning) => (
        <span key={warning} data-of-file className="block text-warn">
          {warning}
        </span>
      ))}
    </>
  );
}
