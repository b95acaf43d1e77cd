import type { Http } from './http';
import type { Schema } from './wire';

/** Work that happens at a time. */
export type Job = Schema<'JobView'>;
/** One time of a job and what became of it, or several in a row that were left out. */
export type JobRun = Schema<'JobRunView'>;
/** What a job would be: plain words and the next times, or what is wrong with it. */
export type JobPreview = Schema<'JobPreview'>;
/** The front matter of a job and its prompt; `null` takes a field away. */
export type JobFields = Partial<Schema<'JobChangeBody'>>;

export interface JobRuns {
  runs: JobRun[];
  /** Give it as `before` to get the older ones. */
  before?: string | null;
}

const path = (id: string, rest = '') => `/api/jobs/${encodeURIComponent(id)}${rest}`;

export class Jobs {
  constructor(private readonly http: Http) {}

  /** Every job, broken ones with what is wrong. */
  async list(): Promise<Job[]> {
    return (await this.http.json<{ jobs: Job[] }>('/api/jobs')).jobs;
  }

  get(id: string): Promise<Job> {
    return this.http.json(path(id));
  }

  /** Makes a job and accepts it. */
  create(id: string, fields: JobFields): Promise<Job> {
    return this.http.json('/api/jobs', { body: { id, ...fields } });
  }

  /** Changes what is named and accepts the job as it is then. */
  change(id: string, fields: JobFields): Promise<Job> {
    return this.http.json(path(id), { method: 'PATCH', body: fields });
  }

  preview(fields: JobFields): Promise<JobPreview> {
    return this.http.json('/api/jobs/preview', { body: fields });
  }

  /** Lets a job fire that somebody else wrote or changed, exactly as it was looked at. */
  accept(id: string, hash: string): Promise<Job> {
    return this.http.json(path(id, '/accept'), { body: { hash } });
  }

  /** Fires it once, now. */
  run(id: string): Promise<JobRun> {
    return this.http.json(path(id, '/run'), { body: {} });
  }

  pause(id: string): Promise<Job> {
    return this.http.json(path(id, '/pause'), { body: {} });
  }

  resume(id: string): Promise<Job> {
    return this.http.json(path(id, '/resume'), { body: {} });
  }

  /** The person has looked at what became of it. */
  seen(id: string): Promise<Job> {
    return this.http.json(path(id, '/seen'), { method: 'PUT', body: {} });
  }

  async remove(id: string): Promise<void> {
    await this.http.response(path(id), { method: 'DELETE' });
  }

  /** Newest first. */
  runs(id: string, page: { before?: string; limit?: number } = {}): Promise<JobRuns> {
    return this.http.json(path(id, '/runs'), { query: page });
  }
}
