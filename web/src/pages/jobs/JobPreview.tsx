import { useEffect, useState } from 'react';
import type { JobFields, JobPreview } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { timeIn } from './JobCard';

/** What the server makes of the fields of a job; it is asked again a moment after they change. */
export function usePreview(fields: JobFields): JobPreview | undefined {
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

/** When the job would fire, in plain words, or what is wrong with its time. */
export function Preview({ preview }: { preview?: JobPreview }) {
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
