import { useEffect, useId, useState } from 'react';
import type { Job, JobFields, JobPreview } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { refreshJobs } from '../../store/jobs';
import { toast } from '../../store/state';
import { Choices, Field, Form } from '../../ui/form';
import { Modal } from '../../ui/Modal';
import { timeIn } from './JobCard';

type When = 'cron' | 'every' | 'at';

const EXAMPLES: Record<When, string> = { cron: '0 8 * * MON-FRI', every: '2h', at: '' };
const HINTS: Record<When, string> = {
  cron: 'Minute, hour, day of month, month, day of week.',
  every: 'For example 30m, 2h, 1d or 2w.',
  at: 'Once, at this date and time.',
};

const text = (value: unknown) => (typeof value === 'string' ? value : '');

/** Creates or changes a job, with a preview in plain words. Saving accepts the job. */
export function JobDialog({ job, close }: { job?: Job; close: () => void }) {
  const known = (job?.fields ?? {}) as Record<string, unknown>;
  const begun = (['every', 'at', 'cron'] as const).find((name) => text(known[name]) !== '') ?? 'cron';
  const [id, setId] = useState(job?.id ?? '');
  const [when, setWhen] = useState<When>(begun);
  const [time, setTime] = useState(text(known[begun]) || EXAMPLES.cron);
  const [zone, setZone] = useState(text(known['timezone']));
  const [prompt, setPrompt] = useState(job?.prompt ?? '');
  const prompting = useId();
  const zones = useId();
  const isCommand = known['run'] !== undefined;
  // `every` may begin at an `at`, which this form does not show and must not lose.
  const keepsAt = begun === 'every' && when === 'every' && known['at'] !== undefined;
  const fields: JobFields = {
    cron: when === 'cron' ? time : null,
    every: when === 'every' ? time : null,
    at: when === 'at' ? time : keepsAt ? text(known['at']) : null,
    timezone: zone || null,
    ...(isCommand ? {} : { prompt }),
  };
  const preview = usePreview({ ...known, ...fields, prompt: isCommand ? undefined : prompt || 'x' } as JobFields);
  const choose = (next: When) => {
    setWhen(next);
    setTime(text(known[next]) || EXAMPLES[next]);
  };
  const save = async () => {
    await (job ? onyx.jobs.change(job.id, fields) : onyx.jobs.create(id.trim(), fields));
    await refreshJobs();
    toast(job ? `${job.id} saved` : `${id.trim()} created`);
    close();
  };
  return (
    <Modal label={job ? `Edit ${job.id}` : 'New job'} onClose={close} className="max-w-130">
      <div className="max-h-[84vh] overflow-y-auto p-5">
        <h2 className="mb-3 font-semibold">{job ? `Edit ${job.id}` : 'New job'}</h2>
        <Form action={job ? 'Save' : 'Create'} onSubmit={save} onCancel={close}>
          {!job && (
            <Field
              label="Name"
              name="id"
              required
              autoFocus
              maxLength={64}
              pattern="[a-z0-9][a-z0-9_\-]*"
              title="Lowercase letters, digits, - and _"
              value={id}
              onChange={(event) => setId(event.target.value)}
              hint="Lowercase letters, digits and dashes, for example morning-summary."
            />
          )}
          <Choices
            label="When"
            value={when}
            options={[
              ['cron', 'On a schedule'],
              ['every', 'Every …'],
              ['at', 'Once'],
            ]}
            onChange={choose}
          />
          <Field
            label="Time"
            name="time"
            required
            type={when === 'at' ? 'datetime-local' : 'text'}
            value={time}
            onChange={(event) => setTime(event.target.value)}
            hint={HINTS[when]}
          />
          <Field
            label="Time zone"
            name="timezone"
            list={zones}
            value={zone}
            placeholder="Yours"
            onChange={(event) => setZone(event.target.value)}
          />
          <datalist id={zones}>
            {Intl.supportedValuesOf('timeZone').map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          <Preview preview={preview} />
          {!isCommand && (
            <div className="meta">
              <label htmlFor={prompting}>Instructions for the agent</label>
              <textarea
                id={prompting}
                required
                dir="auto"
                className="field mt-1 h-auto min-h-32 py-2 text-text"
                value={prompt}
                onChange={(event) => setPrompt(event.target.value)}
              />
            </div>
          )}
        </Form>
      </div>
    </Modal>
  );
}

function usePreview(fields: JobFields): JobPreview | undefined {
  const [preview, setPreview] = useState<JobPreview>();
  const wanted = JSON.stringify(fields);
  useEffect(() => {
    let current = true;
    const timer = setTimeout(() => {
      onyx.jobs.preview(JSON.parse(wanted) as JobFields).then(
        (next) => current && setPreview(next),
        // On saving, the form shows what the server refused.
        () => current && setPreview(undefined),
      );
    }, 200);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [wanted]);
  return preview;
}

function Preview({ preview }: { preview?: JobPreview }) {
  if (!preview) return null;
  if (preview.error) {
    return (
      <p className="rounded-sm bg-sunken px-3 py-2 text-meta text-danger" role="status">
        {preview.error.message} {preview.error.example && `For example: ${preview.error.example}`}
      </p>
    );
  }
  return (
    <div className="rounded-sm bg-sunken px-3 py-2 text-meta" role="status">
      <p>{preview.words}</p>
      <p className="text-dim">Next: {preview.next.map((time) => timeIn(time, preview.timezone)).join(' · ')}</p>
    </div>
  );
}
