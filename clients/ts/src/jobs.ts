import { checkText, invalid, route } from './check.js';
import type { Http } from './http.js';
import type { Schema } from './wire.js';

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

const path = (id: string, rest = '') => route`/api/jobs/${{ id }}${rest}`;

export class Jobs {
  constructor(private readonly http: Http) {}

  /** Every job, broken ones with what is wrong. */
  async list(): Promise<Job[]> {
    return (await this.http.json<{ jobs: Job[] }>('/api/jobs')).jobs;
  }

  async get(id: string): Promise<Job> {
    return this.http.json(path(id));
  }

  /** Makes a job and accepts it. */
  async create(id: string, fields: JobFields): Promise<Job> {
    checkText('id', id);
    checkTime(fields);
    return this.http.json('/api/jobs', { body: { id, ...sent(fields) } });
  }

  /** Changes what is named and accepts the job as it is then. */
  async change(id: string, fields: JobFields): Promise<Job> {
    return this.http.json(path(id), { method: 'PATCH', body: sent(fields) });
  }

  async preview(fields: JobFields): Promise<JobPreview> {
    return this.http.json('/api/jobs/preview', { body: sent(fields) });
  }

  /** Lets a job fire that somebody else wrote or changed, exactly as it was looked at. */
  async accept(id: string, hash: string): Promise<Job> {
    return this.http.json(path(id, '/accept'), { body: { hash } });
  }

  /** Fires it once, now. */
  async run(id: string): Promise<JobRun> {
    return this.http.json(path(id, '/run'), { body: {} });
  }

  async pause(id: string): Promise<Job> {
    return this.http.json(path(id, '/pause'), { body: {} });
  }

  async resume(id: string): Promise<Job> {
    return this.http.json(path(id, '/resume'), { body: {} });
  }

  /** The person has looked at what became of it. */
  async seen(id: string): Promise<Job> {
    return this.http.json(path(id, '/seen'), { method: 'PUT', body: {} });
  }

  async remove(id: string): Promise<void> {
    await this.http.response(path(id), { method: 'DELETE' });
  }

  /** Newest first. */
  async runs(id: string, page: { before?: string; limit?: number } = {}): Promise<JobRuns> {
    return this.http.json(path(id, '/runs'), { query: page });
  }
}

/** A job without a time, or without anything to do, is none. */
function checkTime({ cron, every, at, prompt, run }: JobFields): void {
  if (cron && every) throw invalid('cron', 'and `every` cannot both be given');
  if (!cron && !every && !at) throw invalid('cron', 'must be given, or `every`, or `at`');
  if (!prompt && !run) throw invalid('prompt', 'must be given, or `run`');
}

/** As the server spells it. */
function sent({ maxCost, ...fields }: JobFields): object {
  return maxCost === undefined ? fields : { ...fields, max_cost: maxCost };
}
