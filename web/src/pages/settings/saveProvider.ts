import type { Provider, ProviderSettings } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { KINDS, type Kind } from './kinds';

/** A reference to a secret; any other text is the secret itself. */
const REFERENCE = /^(env|file|secret):|^\$\{/;

type ReadField = (name: string) => string;

export interface SavedProvider {
  name: string;
  /** Its sign-in has begun. */
  signsIn: boolean;
}

/** Writes what the form holds: a new provider of this kind, or changes of an existing one. Begins a sign-in it needs. */
export async function saveProvider(field: ReadField, kind: string, provider?: Provider): Promise<SavedProvider> {
  const chosen = KINDS.find((one) => one.id === kind);
  const login = provider ? undefined : chosen?.login;
  const name = provider?.name ?? (login === 'known' ? chosen?.name : undefined) ?? field('name');
  const before: ProviderSettings = provider ? (await onyx.admin.provider(name)).settings : {};
  const key = field('key');
  // A reference to a key is written to the config; the key itself is not.
  const isReference = REFERENCE.test(key);
  const sealed = provider ? [] : await storeSecrets(name, chosen, field);
  const extra = (of: string) => (sealed.includes(of) ? `secret:${name}.${of}` : field(of));
  const settings = {
    ...before,
    // A kind that was not changed stays as the config has it.
    kind: provider?.kind === kind ? before.kind : chosen?.wire === null ? undefined : (chosen?.wire ?? kind),
    ...(chosen?.program ? { command: field('command') || before.command } : { baseUrl: field('address') || undefined }),
    ...(isReference && { apiKey: key }),
    ...(login && { login: loginSettings(field) }),
    ...(!provider && chosen?.settings?.(extra)),
  };
  try {
    await onyx.admin.setProvider(name, settings, isReference ? undefined : key || undefined);
  } catch (fault) {
    for (const of of sealed) await onyx.admin.removeSecret(`${name}.${of}`);
    throw fault;
  }
  if (login) await onyx.admin.beginProviderLogin(name);
  return { name, signsIn: login !== undefined };
}

const loginSettings = (field: ReadField) => ({
  clientId: field('clientId'),
  deviceUrl: field('deviceUrl') || undefined,
  tokenUrl: field('tokenUrl') || undefined,
});

/** Stores the secret extras encrypted and returns their names. */
async function storeSecrets(name: string, kind: Kind | undefined, field: ReadField): Promise<string[]> {
  const typed = (kind?.extras ?? []).filter((one) => one.secret && field(one.name) && !REFERENCE.test(field(one.name)));
  for (const one of typed) await onyx.admin.setSecret(`${name}.${one.name}`, field(one.name));
  return typed.map((one) => one.name);
}
