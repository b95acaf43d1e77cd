import { checkText, route } from './check.js';
import type { StoredFile } from './files.js';
import type { Http } from './http.js';
import { interrupted, OnyxError } from './error.js';
import { lines, serverSentEvents } from './lines.js';
import type { Query, Schema } from './wire.js';

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
export type FoundProvider = Schema<'FoundProviderView'>;
export type DefaultModel = Schema<'DefaultModel'>;
/** A sign-in that began: the page to open, and the code to enter there if the provider needs one. */
export type LoginBegun = Schema<'LoginBegun'>;
/** The state of the sign-in at a provider. */
export type ProviderLogin = Schema<'LoginView'>;
export type Account = Schema<'Account'>;
export type Budgets = Schema<'Budgets'>;
export type UsageReport = Schema<'UsageReport'>;
/** The usage of a day, an agent, a model or a person. */
export type UsageSum = Schema<'Sum'>;
export type Secret = Schema<'SecretView'>;
/** One of several gateways, and its work. */
export type Gateway = Schema<'GatewayView'>;
/** The result of rebuilding the index. */
export type Reindexed = Schema<'Reindexed'>;
export type ConfigFile = Schema<'ConfigView'>;

/** The settings in `providers.<name>` of the config file, with its names. */
export interface ProviderSettings {
  kind?: string;
  baseUrl?: string;
  /** The path of the program, for a kind that is a program. */
  command?: string;
  [name: string]: unknown;
}

/** The program that wrote the export. */
export type ImportSource = Schema<'ImportSource'>;
export type ImportCounts = Schema<'ImportCounts'>;
export type ImportRemark = Schema<'ImportRemark'>;

/** How many entries have been checked or written. */
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

/** The result of an import, or its preview. */
export interface ImportReport extends Omit<Schema<'ImportReport'>, 'counts'> {
  /** The counts by kind. The kinds are content, so they keep their spelling, such as `mcp_server`. */
  counts: Partial<Record<Schema<'ImportKind'>, ImportCounts>>;
}

export type AuditRow = Schema<'AuditRowView'>;
/** Whether the rows of a person are complete and unchanged. */
export type AuditChain = Schema<'AuditChain'>;

/** Calls that only the owner may make. */
export class Admin {
  constructor(private readonly http: Http) {}

  async providers(): Promise<Provider[]> {
    return (await this.http.json<{ providers: Provider[] }>('/api/admin/providers')).providers;
  }

  async provider(name: string): Promise<Provider & { settings: ProviderSettings }> {
    return this.http.json(route`/api/admin/providers/${{ name }}`);
  }

  /** Replaces the provider's settings. A key is stored encrypted, and the settings only name it. */
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

  /** The models that the provider itself lists now. */
  async providerModels(name: string): Promise<Model[]> {
    return (await this.http.json<{ models: Model[] }>(route`/api/admin/providers/${{ name }}/models`)).models;
  }

  /** Model servers on the server's machine that could be added without a key. */
  async foundProviders(): Promise<FoundProvider[]> {
    return (await this.http.json<{ found: FoundProvider[] }>('/api/admin/providers/found')).found;
  }

  async providerLogin(name: string): Promise<ProviderLogin> {
    return this.http.json(route`/api/admin/providers/${{ name }}/login`);
  }

  /** The model for agents without their own, the persona editor included. */
  async defaultModel(): Promise<DefaultModel> {
    return this.http.json('/api/admin/default-model');
  }

  /** `null` means the first provider that works. The fallbacks are tried in order when it cannot answer. */
  async setDefaultModel(model: DefaultModel): Promise<DefaultModel> {
    return this.http.json('/api/admin/default-model', { method: 'PUT', body: model });
  }

  /** Starts a sign-in, or returns the waiting one. `providerLogin` shows its progress. */
  async beginProviderLogin(name: string, way?: 'code' | 'browser'): Promise<LoginBegun> {
    return this.http.json(route`/api/admin/providers/${{ name }}/login`, { method: 'POST', query: { way } });
  }

  /** Finishes a sign-in with the address that the browser ended at, if it could not reach the server. */
  async finishProviderLogin(name: string, address: string): Promise<ProviderLogin> {
    return this.http.json(route`/api/admin/providers/${{ name }}/login/callback`, { body: { address } });
  }

  /** Signs out, or cancels a waiting sign-in. */
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

  /** A one-time link that signs the owner in, in a browser on the server's machine. */
  async link(): Promise<string> {
    return (await this.http.json<{ url: string }>('/api/admin/links', { body: {} })).url;
  }

  /** Names and dates of the secrets; no value ever leaves the server. */
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

  /** Encrypts every secret with a new key; returns their number. */
  async rotateSecrets(): Promise<number> {
    return (await this.http.json<{ rotated: number }>('/api/admin/secrets/rotate', { body: {} })).rotated;
  }

  /** The gateways that share one database, and the work of each; none for a single process. */
  async gateways(): Promise<Gateway[]> {
    const answer = await this.http.json<{ gateways: Gateway[] }>('/api/admin/gateways');
    return answer.gateways;
  }

  /** Drains a gateway: it starts nothing new until it is restarted. A silent one is removed from the list. */
  async drainGateway(id: string): Promise<void> {
    await this.http.response(route`/api/admin/gateways/${{ id }}/drain`, { body: {} });
  }

  /** Rebuilds the index from all logs and files. */
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

  /** Replaces the config. An invalid one is refused with the field's path, and the old one stays. */
  async setConfig(text: string, version: string): Promise<void> {
    await this.http.response('/api/admin/config', { method: 'PUT', body: { text }, headers: { 'if-match': version } });
  }

  /** Imports an export of another program: a file, or a ZIP of its folder. `onProgress` receives the progress. */
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

  async audit(query: Query<'AuditQuery'> = {}): Promise<Schema<'AuditPage'>> {
    return this.http.json('/api/admin/audit', { query });
  }

  /** Verifies for each person that no row was changed or removed. */
  async verifyAudit(): Promise<AuditChain[]> {
    return (await this.http.json<{ chains: AuditChain[] }>('/api/admin/audit/verify')).chains;
  }

  /** The server's log level now, and after its next start. */
  async logLevel(): Promise<LogLevels> {
    return this.http.json('/api/admin/logs/level');
  }

  /** Changes the log level until the next start; without a level, resets it. */
  async setLogLevel(level?: LogLevel): Promise<LogLevels> {
    const path = '/api/admin/logs/level';
    return level
      ? this.http.json(path, { method: 'PUT', body: { level } })
      : this.http.json(path, { method: 'DELETE' });
  }

  /** Yields the newest log lines, then each new one until the signal aborts. */
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
