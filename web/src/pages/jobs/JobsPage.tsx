import { useState } from 'react';
import { Plus } from 'lucide-react';
import type { Job } from '@onyx/sdk';
import { refreshJobs, useJobs } from '../../store/jobs';
import { useStore } from '../../store/state';
import { Section } from '../../ui/form';
import { Empty, ErrorLine, Page, Skeletons } from '../../ui/page';
import { JobCard } from './JobCard';
import { JobDialog } from './JobDialog';
import { WeekStrip } from './WeekStrip';

/** The person's jobs: what is planned, how it went, and what needs attention. */
export function JobsPage() {
  const [editing, setEditing] = useState<Job | 'new'>();
  return (
    <Page
      title="Jobs"
      bar={
        <button type="button" className="btn" onClick={() => setEditing('new')}>
          <Plus size={15} aria-hidden /> New job
        </button>
      }
    >
      <Jobs onEdit={setEditing} />
      {editing && <JobDialog job={editing === 'new' ? undefined : editing} close={() => setEditing(undefined)} />}
    </Page>
  );
}

function Jobs({ onEdit }: { onEdit: (job: Job | 'new') => void }) {
  const { phase, jobs, fault } = useJobs();
  const offline = useStore((state) => state.link !== 'online');
  const retry = { label: 'Retry', run: () => void refreshJobs() };
  if (phase === 'failed' && fault) return <ErrorLine fault={fault} action={retry} />;
  if (phase === 'loading') {
    return offline ? (
      <Empty>Not connected to Onyx. This page loads when the connection is back.</Empty>
    ) : (
      <Skeletons rows={3} height="h-24" />
    );
  }
  if (jobs.length === 0) {
    return (
      <div className="card">
        <Empty>
          No jobs yet.{' '}
          <button type="button" className="text-accent underline underline-offset-3" onClick={() => onEdit('new')}>
            Create one
          </button>
          , or ask an agent: “every weekday at 8, summarise my inbox”.
        </Empty>
      </div>
    );
  }
  return (
    <>
      {fault && <ErrorLine fault={fault} action={retry} />}
      <Section title="This week" detail={`Times in ${new Intl.DateTimeFormat().resolvedOptions().timeZone}.`}>
        <WeekStrip jobs={jobs} />
      </Section>
      <Section title="Jobs" detail="Jobs come from agent/jobs in your vault, action schedules and the config.">
        <div className="flex flex-col gap-3">
          {jobs.map((job) => (
            <JobCard key={job.id} job={job} onEdit={() => onEdit(job)} />
          ))}
        </div>
      </Section>
    </>
  );
}
