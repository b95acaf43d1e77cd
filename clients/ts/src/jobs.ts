import { checkText, invalid, route } from './check.js';
import type { Http } from './http.js';
import type { Schema } from './wire.js';

/** Jobs: work that happens at a set time. */
export type Job = Schema<'JobView'>;
/** One scheduled time of a job and its outcome, or several skipped ones in a row. */
export type JobRun = Schema<'JobRunView'>;
/** Previews a job: a description and its next times, or what is wrong with it. */
export type JobPreview = Schema<'JobPreview'>;
/** The front matter of a job and its prompt; `null` removes a field. */
export type JobFields = Partial<Schema<'JobChangeBody'>>;

export type JobRuns = Schema<'JobRuns'>;

const path = (id: string, rest = '') => route`/api/jobs/${{ id }}${rest}`;

export class Jobs {
  constructor(private readonly http: Http) {}

  /** Every job; a broken one says what is wrong. */
  async list(): Promise<Job[]> {
    return (await this.http.json<{ jobs: Job[] }>('/api/jobs')).jobs;
  }

  async get(id: string): Promise<Job> {
    return this.http.json(path(id));
  }

  /** Creates a job and accepts it. */
  async create(id: string, fields: JobFields): Promise<Job> {
    checkText('id', id);
    checkTime(fields);
    return this.http.json('/api/jobs', { body: { id, ...sent(fields) } });
  }

  /** Changes the named fields and accepts the result. */
  async change(id: string, fields: JobFields): Promise<Job> {
    return this.http.json(path(id), { method: 'PATCH', body: sent(fields) });
  }

  async preview(fields: JobFields): Promise<JobPreview> {
    return this.http.json('/api/jobs/preview', { body: sent(fields) });
  }

  /** Accepts a job that someone else wrote or changed, exactly as it was reviewed. */
  async accept(id: string, hash: string): Promise<Job> {
    return this.http.json(path(id, '/accept'), { body: { hash } });
  }

  /** Runs the job once, now. */
  async run(id: string): Promise<JobRun> {
    return this.http.json(path(id, '/run'), { body: {} });
  }

  async pause(id: string): Promise<Job> {
    return this.http.json(path(id, '/pause'), { body: {} });
  }

  async resume(id: string): Promise<Job> {
    return this.http.json(path(id, '/resume'), { body: {} });
  }

  /** Marks the job's results as seen. */
  async seen(id: string): Promise<Job> {
    return this.http.json(path(id, '/seen'), { method: 'PUT', body: {} });
  }

  async remove(id: string): Promise<void> {
    await this.http.response(path(id), { method: 'DELETE' });
  }

  /** Lists the runs of a job, newest first. */
  async runs(id: string, page: { before?: string; limit?: number } = {}): Promise<JobRuns> {
    return this.http.json(path(id, '/runs'), { query: page });
  }
}

/** A job needs a time and something to do. */
function checkTime({ cron, every, at, prompt, run }: JobFields): void {
  if (cron && every) throw invalid('cron', 'and `every` cannot both be given');
  if (!cron && !every && !at) throw invalid('cron', 'must be given, or `every`, or `at`');
  if (!prompt && !run) throw invalid('prompt', 'must be given, or `run`');
}

/** The fields with the names that the server uses. */
function sent({ maxCost, ...fields }: JobFields): object {
  return maxCost === undefined ? fields : { ...fields, max_cost: maxCost };
}
