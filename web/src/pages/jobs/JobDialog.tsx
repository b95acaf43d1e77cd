import { useId, useState } from 'react';
import type { Job, JobFields } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { refreshJobs } from '../../store/jobs';
import { toast } from '../../store/state';
import { Choices, Field, Form } from '../../ui/form';
import { Modal } from '../../ui/Modal';
import { Preview, usePreview } from './JobPreview';

type When = 'cron' | 'every' | 'at';

const WAYS: [When, string][] = [
  ['cron', 'On a schedule'],
  ['every', 'Every …'],
  ['at', 'Once'],
];
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
  const title = job ? `Edit ${job.id}` : 'New job';
  return (
    <Modal label={title} onClose={close} className="max-w-130">
      <div className="max-h-[84vh] overflow-y-auto p-5">
        <h2 className="mb-3 font-semibold">{title}</h2>
        <Form action={job ? 'Save' : 'Create'} onSubmit={save} onCancel={close}>
          {!job && <NameField name={id} onName={setId} />}
          <Choices label="When" value={when} options={WAYS} onChange={choose} />
          <Field
            label="Time"
            name="time"
            required
            type={when === 'at' ? 'datetime-local' : 'text'}
            value={time}
            onChange={(event) => setTime(event.target.value)}
            hint={HINTS[when]}
          />
          <ZoneField zone={zone} onZone={setZone} />
          <Preview preview={preview} />
          {!isCommand && <Instructions prompt={prompt} onPrompt={setPrompt} />}
        </Form>
      </div>
    </Modal>
  );
}

function NameField({ name, onName }: { name: string; onName: (name: string) => void }) {
  return (
    <Field
      label="Name"
      name="id"
      required
      autoFocus
      maxLength={64}
      pattern="[a-z0-9][a-z0-9_\-]*"
      title="Lowercase letters, digits, - and _"
      value={name}
      onChange={(event) => onName(event.target.value)}
      hint="Lowercase letters, digits and dashes, for example morning-summary."
    />
  );
}

function ZoneField({ zone, onZone }: { zone: string; onZone: (zone: string) => void }) {
  const zones = useId();
  return (
    <>
      <Field
        label="Time zone"
        name="timezone"
        list={zones}
        value={zone}
        placeholder="Yours"
        onChange={(event) => onZone(event.target.value)}
      />
      <datalist id={zones}>
        {Intl.supportedValuesOf('timeZone').map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}

function Instructions({ prompt, onPrompt }: { prompt: string; onPrompt: (prompt: string) => void }) {
  const id = useId();
  return (
    <div className="meta">
      <label htmlFor={id}>Instructions for the agent</label>
      <textarea
        id={id}
        required
        dir="auto"
        className="field mt-1 h-auto min-h-32 py-2 text-text"
        value={prompt}
        onChange={(event) => onPrompt(event.target.value)}
      />
    </div>
  );
}
