import { checkText, route } from './check.js';
import type { StoredFile } from './files.js';
import type { Http } from './http.js';
import { interrupted, OnyxError } from './error.js';
import { lines, serverSentEvents } from './lines.js';
import type { Schema } from './wire.js';

export type Me = Schema<'Me'>;
export type Person = Schema<'Person'>;
export type Credential = Schema<'CredentialView'>;
export type TokenMade = Schema<'TokenMade'>;
export type Pairing = Schema<'Pairing'>;
export type LogLine = Schema<'LogLine'>;
export type LogLevel = Schema<'LogLevel'>;
export type LogLevels = Schema<'LogLevels'>;
export type Grant = Schema<'Grant'>;
export type Provider = Schema<'ProviderView'>;
export type ProviderTest = Schema<'TestView'>;
export type Model = Schema<'ModelView'>;
/** A server that answers on this machine and is not configured. */
export type FoundProvider = Schema<'FoundView'>;
/** A code that waits to be entered at the provider. */
export type DefaultModel = Schema<'DefaultModel'>;
export type LoginBegun = Schema<'LoginBegun'>;
/** How it stands with the sign-in at a provider. */
export type ProviderLogin = Schema<'LoginView'>;
export type Account = Schema<'Account'>;
export type Budgets = Schema<'Budgets'>;
export type UsageReport = Schema<'UsageReport'>;
/** What a day, an agent, a model or a person used. */
export type UsageSum = Schema<'Sum'>;
export type Secret = Schema<'SecretView'>;
/** One of several gateways, and what it does. */
export type Gateway = Schema<'GatewayView'>;
/** What reading everything anew found. */
export type Reindexed = Schema<'Reindexed'>;
export type ConfigFile = Schema<'ConfigView'>;

/** `providers.<name>` of the config file, in its own words. */
export interface ProviderSettings {
  kind?: string;
  baseUrl?: string;
  /** Of a kind that is a program: where it is. */
  command?: string;
  [name: string]: unknown;
}

/** The program that an export is of. */
export type ImportSource = 'openclaw' | 'nanobot' | 'open-webui' | 'chatgpt' | 'claude';

export interface ImportCounts {
  new: number;
  added: number;
  alreadyThere: number;
  /** Something else is here in its place, and stays. */
  kept: number;
}

export interface ImportRemark {
  what: string;
  why: string;
}

/** What came of an import, or would come. */
/** How much of what was read is looked at or written. */
export interface ImportProgress {
  done: number;
  total: number;
}

export interface ImportOptions {
  dryRun?: boolean;
  skipBroken?: boolean;
  onProgress?: (progress: ImportProgress) => void;
}

type ImportLine =
  | ({ type: 'progress' } & ImportProgress)
  | { type: 'report'; report: ImportReport }
  | { type: 'error'; code: string; message: string; hint?: string };

export interface ImportReport {
  dryRun: boolean;
  /** By kind: `agent`, `session` and so on. */
  counts: Record<string, ImportCounts>;
  entries: { kind: string; name: string; outcome: 'new' | 'added' | 'already_there' | 'kept'; why?: string }[];
  leftOut: ImportRemark[];
  renamed: ImportRemark[];
}

export interface AuditRow {
  person: string;
  seq: number;
  ts: string;
  actorKind: string;
  actor: string;
  agent?: string | null;
  sessionId?: string | null;
  runId?: string | null;
  tool?: string | null;
  effect?: string | null;
  decision?: string | null;
  diffSummary: string;
  result: string;
}

export interface AuditChain {
  person: string;
  whole: boolean;
  rows?: number;
  /** The first row that is missing, changed or does not belong. */
  brokenAt?: number;
}

/** What only the owner may do. */
export class Admin {
  constructor(private readonly http: Http) {}

  async providers(): Promise<Provider[]> {
    return (await this.http.json<{ providers: Provider[] }>('/api/admin/providers')).providers;
  }

  async provider(name: string): Promise<Provider & { settings: ProviderSettings }> {
    return this.http.json(route`/api/admin/providers/${{ name }}`);
  }

  /** Makes it what the settings say. A key is kept sealed, and the settings only name it. */
  async setProvider(name: string, settings: ProviderSettings, apiKey?: string): Promise<void> {
    await this.http.response(route`/api/admin/providers/${{ name }}`, {
      method: 'PUT',
      body: { settings, api_key: apiKey },
    });
  }

  async removeProvider(name: string): Promise<void> {
    await this.http.response(route`/api/admin/providers/${{ name }}`, { method: 'DELETE' });
  }

  async testProvider(name: string): Promise<ProviderTest> {
    return this.http.json(route`/api/admin/providers/${{ name }}/test`, { body: {} });
  }

  /** Those that the provider itself lists now. */
  async providerModels(name: string): Promise<Model[]> {
    return (await this.http.json<{ models: Model[] }>(route`/api/admin/providers/${{ name }}/models`)).models;
  }

  /** What runs on this machine and could be had without a key. */
  async foundProviders(): Promise<FoundProvider[]> {
    return (await this.http.json<{ found: FoundProvider[] }>('/api/admin/providers/found')).found;
  }

  async providerLogin(name: string): Promise<ProviderLogin> {
    return this.http.json(route`/api/admin/providers/${{ name }}/login`);
  }

  /** What agents without a model of their own answer with, the editor of personas included. */
  async defaultModel(): Promise<DefaultModel> {
    return this.http.json('/api/admin/default-model');
  }

  /** `null` leaves it to the first provider that works. The others are asked in their order when it cannot answer. */
  async setDefaultModel(model: DefaultModel): Promise<DefaultModel> {
    return this.http.json('/api/admin/default-model', { method: 'PUT', body: model });
  }

  /** Begins a sign-in, or gives back the one that waits. The server waits for it; `providerLogin` tells what becomes of it. */
  async beginProviderLogin(name: string, way?: 'code' | 'browser'): Promise<LoginBegun> {
    return this.http.json(route`/api/admin/providers/${{ name }}/login`, { method: 'POST', query: { way } });
  }

  /** The address of the page that a browser ended at which could not come back to the server's machine by itself. */
  async finishProviderLogin(name: string, address: string): Promise<ProviderLogin> {
    return this.http.json(route`/api/admin/providers/${{ name }}/login/callback`, { body: { address } });
  }

  /** Signs out, or stops waiting. */
  async endProviderLogin(name: string): Promise<void> {
    await this.http.response(route`/api/admin/providers/${{ name }}/login`, { method: 'DELETE' });
  }

  async models(): Promise<Model[]> {
    return (await this.http.json<{ models: Model[] }>('/api/admin/models')).models;
  }

  async model(id: string): Promise<Model> {
    return this.http.json(route`/api/admin/models/${{ id }}`);
  }

  async people(): Promise<Person[]> {
    return (await this.http.json<{ people: Person[] }>('/api/admin/people')).people;
  }

  async addPerson(person: { id: string; name?: string }): Promise<Person> {
    return this.http.json('/api/admin/people', { body: person });
  }

  async removePerson(id: string): Promise<void> {
    await this.http.response(route`/api/admin/people/${{ id }}`, { method: 'DELETE' });
  }

  async setPassword(id: string, password: string): Promise<void> {
    await this.http.response(route`/api/admin/people/${{ id }}/password`, { method: 'PUT', body: { password } });
  }

  async tokens(): Promise<Credential[]> {
    return (await this.http.json<{ tokens: Credential[] }>('/api/admin/tokens')).tokens;
  }

  async makeToken(token: {
    name: string;
    people?: string[];
    scopes?: Grant[];
    expiresIn?: number;
  }): Promise<TokenMade> {
    const { name, people, scopes, expiresIn } = token;
    return this.http.json('/api/admin/tokens', { body: { name, people, scopes, expires_in: expiresIn } });
  }

  async revokeToken(id: string): Promise<void> {
    await this.http.response(route`/api/admin/tokens/${{ id }}`, { method: 'DELETE' });
  }

  async removePassword(id: string): Promise<void> {
    await this.http.response(route`/api/admin/people/${{ id }}/password`, { method: 'DELETE' });
  }

  async pairings(): Promise<Pairing[]> {
    return (await this.http.json<{ pairings: Pairing[] }>('/api/admin/pairings')).pairings;
  }

  async decidePairing(code: string, decision: 'approve' | 'reject', person?: string): Promise<void> {
    await this.http.response(route`/api/admin/pairings/${{ decision }}`, {
      body: decision === 'approve' ? { code, person } : { code },
    });
  }

  /** A link that signs the owner in once, in a browser on the machine of the server. */
  async link(): Promise<string> {
    return (await this.http.json<{ url: string }>('/api/admin/links', { body: {} })).url;
  }

  /** Their names and dates; no value ever leaves the server. */
  async secrets(): Promise<Secret[]> {
    return (await this.http.json<{ secrets: Secret[] }>('/api/admin/secrets')).secrets;
  }

  async setSecret(name: string, value: string): Promise<void> {
    checkText('value', value);
    await this.http.response(route`/api/admin/secrets/${{ name }}`, { method: 'PUT', body: { value } });
  }

  async removeSecret(name: string): Promise<void> {
    await this.http.response(route`/api/admin/secrets/${{ name }}`, { method: 'DELETE' });
  }

  /** Seals every secret under a new key; how many there are. */
  async rotateSecrets(): Promise<number> {
    return (await this.http.json<{ rotated: number }>('/api/admin/secrets/rotate', { body: {} })).rotated;
  }

  /** The gateways that share one database, and what each does. None where one process keeps everything to itself. */
  async gateways(): Promise<Gateway[]> {
    const answer = await this.http.json<{ gateways: Gateway[] }>('/api/admin/gateways');
    return answer.gateways;
  }

  /** Has it give back what it holds and begin nothing more until it is restarted; a silent one is forgotten. */
  async drainGateway(id: string): Promise<void> {
    await this.http.response(route`/api/admin/gateways/${{ id }}/drain`, { body: {} });
  }

  /** Reads all logs and files anew. */
  async reindex(): Promise<Reindexed> {
    return this.http.json('/api/admin/reindex', { body: {} });
  }

  async budgets(): Promise<Budgets> {
    return this.http.json('/api/admin/budgets');
  }

  async setLimits(
    limits: Partial<Pick<Budgets, 'limitPerRun' | 'limitPerPerson' | 'limitPerAgent'>>,
  ): Promise<Budgets> {
    const { limitPerRun, limitPerPerson, limitPerAgent } = limits;
    const body = { limit_per_run: limitPerRun, limit_per_person: limitPerPerson, limit_per_agent: limitPerAgent };
    return this.http.json('/api/admin/budgets', { method: 'PUT', body });
  }

  async usage(
    query: { since?: string; until?: string; person?: string; agent?: string; model?: string } = {},
  ): Promise<UsageReport> {
    return this.http.json('/api/admin/usage', { query });
  }

  async config(): Promise<ConfigFile & Pick<StoredFile, 'version'>> {
    const response = await this.http.response('/api/admin/config');
    return { ...((await response.json()) as ConfigFile), version: response.headers.get('etag') ?? '' };
  }

  /** Refused with the field's path when it is not good; then the old one stays. */
  async setConfig(text: string, version: string): Promise<void> {
    await this.http.response('/api/admin/config', { method: 'PUT', body: { text }, headers: { 'if-match': version } });
  }

  /** An export of another program: a file, or a ZIP archive of its folder. `onProgress` is told how far it is. */
  async importExport(
    from: ImportSource,
    file: Blob,
    { dryRun = false, skipBroken = false, onProgress }: ImportOptions = {},
  ): Promise<ImportReport> {
    const query = { from, dry_run: dryRun, skip_broken: skipBroken, progress: onProgress !== undefined };
    const response = await this.http.response('/api/admin/import', { method: 'POST', query, bytes: file });
    if (!onProgress) return (await response.json()) as ImportReport;
    for await (const text of response.body ? lines(response.body) : []) {
      const line = JSON.parse(text) as ImportLine;
      if (line.type === 'report') return line.report;
      if (line.type === 'error') throw new OnyxError({ ...line, hint: line.hint ?? '' }, response.status);
      onProgress(line);
    }
    throw interrupted();
  }

  async audit(
    query: { person?: string; before?: number; limit?: number } = {},
  ): Promise<{ rows: AuditRow[]; before?: number }> {
    return this.http.json('/api/admin/audit', { query });
  }

  /** Whether every row still fits the one before it, for each person. */
  async verifyAudit(): Promise<AuditChain[]> {
    return (await this.http.json<{ chains: AuditChain[] }>('/api/admin/audit/verify')).chains;
  }

  /** What the server logs, and what its next start logs. */
  async logLevel(): Promise<LogLevels> {
    return this.http.json('/api/admin/logs/level');
  }

  /** Until the next start; without a level, back to what that logs. */
  async setLogLevel(level?: LogLevel): Promise<LogLevels> {
    const path = '/api/admin/logs/level';
    return level
      ? this.http.json(path, { method: 'PUT', body: { level } })
      : this.http.json(path, { method: 'DELETE' });
  }

  /** The newest lines, then each as it is written, until the signal says enough. */
  async *logs(
    query: { level?: LogLevel; q?: string; after?: number; limit?: number },
    { signal, opened }: { signal: AbortSignal; opened?: () => void },
  ): AsyncGenerator<LogLine> {
    const response = await this.http.response('/api/admin/logs', {
      query,
      signal,
      headers: { accept: 'text/event-stream' },
    });
    opened?.();
    if (!response.body) return;
    for await (const { data } of serverSentEvents(response.body)) yield JSON.parse(data) as LogLine;
  }
}
