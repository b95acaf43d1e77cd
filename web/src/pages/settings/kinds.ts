// The kinds of providers that a person can add, and what each of them asks for. Data: the form draws it.

import type { ProviderSettings } from '@onyx/sdk';

export interface Kind {
  id: string;
  title: string;
  /** The default name in the config. */
  name: string;
  address?: string;
  /** True if every account has its own address. */
  needsAddress?: boolean;
  needsKey: boolean;
  /** The `kind` in the config, if it is not this id; `null` if the name implies it. */
  wire?: string | null;
  /** The provider has a sign-in page, whose addresses are known from the name or must be given. */
  login?: 'known' | 'given';
  /** A program on the server's machine that has its own sign-in. */
  program?: { usual: string; signIn: string; token?: string };
  extras?: Extra[];
  /** The extras as settings of the config. */
  settings?: (extra: (name: string) => string) => ProviderSettings;
}

/** A field of one kind only. A secret is stored encrypted, and the settings only name it. */
export interface Extra {
  name: string;
  label: string;
  hint?: string;
  placeholder?: string;
  secret?: boolean;
}

const said = <T extends object>(fields: T): T | undefined =>
  Object.values(fields).some(Boolean)
    ? (Object.fromEntries(Object.entries(fields).filter(([, it]) => it)) as T)
    : undefined;

export const KINDS: Kind[] = [
  {
    id: 'openai',
    title: 'OpenAI or compatible',
    name: 'openai',
    address: 'https://api.openai.com/v1',
    needsKey: true,
  },
  { id: 'anthropic', title: 'Anthropic', name: 'anthropic', needsKey: true },
  { id: 'gemini', title: 'Google Gemini', name: 'gemini', needsKey: true },
  { id: 'ollama', title: 'Ollama on this network', name: 'ollama', address: 'http://127.0.0.1:11434', needsKey: false },
  { id: 'openai-responses', title: 'OpenAI Responses', name: 'openai-responses', needsKey: true },
  {
    id: 'azure',
    title: 'Azure OpenAI',
    name: 'azure',
    address: 'https://my-resource.openai.azure.com',
    needsAddress: true,
    needsKey: true,
    wire: null,
    extras: [
      {
        name: 'apiVersion',
        label: 'API version',
        placeholder: '2025-04-01-preview',
        hint: 'Leave empty if the address ends in /openai/v1.',
      },
      { name: 'tenant', label: 'Tenant', hint: 'Tenant ID of a Microsoft Entra app, used instead of an API key.' },
      { name: 'clientId', label: 'Application ID' },
      { name: 'clientSecret', label: 'Application secret', secret: true },
    ],
    settings: (extra) => {
      const azure = said({
        tenant: extra('tenant'),
        clientId: extra('clientId'),
        clientSecret: extra('clientSecret'),
      });
      return { apiVersion: extra('apiVersion') || undefined, credentials: azure && { azure } };
    },
  },
  {
    id: 'vertex_ai',
    title: 'Google Vertex AI',
    name: 'vertex_ai',
    address:
      'https://europe-west4-aiplatform.googleapis.com/v1/projects/my-project/locations/europe-west4/publishers/google',
    needsAddress: true,
    needsKey: false,
    wire: null,
    extras: [
      {
        name: 'google',
        label: 'Key file of a service account',
        placeholder: '/home/me/key.json',
        hint: 'Its path on the machine that Onyx runs on. Empty: Onyx uses `gcloud auth application-default login` there.',
      },
    ],
    settings: (extra) => ({ credentials: { google: extra('google') ? `file:${extra('google')}` : 'default' } }),
  },
  {
    id: 'bedrock',
    title: 'Amazon Bedrock',
    name: 'bedrock',
    needsKey: true,
    extras: [
      { name: 'region', label: 'Region', placeholder: 'eu-central-1' },
      {
        name: 'profile',
        label: 'AWS profile',
        placeholder: 'default',
        hint: 'AWS CLI profile on the Onyx server; `aws sso login` works too. Or enter keys:',
      },
      { name: 'accessKeyId', label: 'Access key ID' },
      { name: 'secretAccessKey', label: 'Secret access key', secret: true },
    ],
    settings: (extra) => {
      const aws = said({
        region: extra('region'),
        profile: extra('profile'),
        accessKeyId: extra('accessKeyId'),
        secretAccessKey: extra('secretAccessKey'),
      });
      return { credentials: aws && { aws } };
    },
  },
  {
    id: 'chatgpt',
    title: 'ChatGPT subscription (sign in)',
    name: 'chatgpt',
    needsKey: false,
    wire: null,
    login: 'known',
  },
  {
    id: 'github_copilot',
    title: 'GitHub Copilot (sign in)',
    name: 'github_copilot',
    needsKey: false,
    wire: null,
    login: 'known',
  },
  {
    id: 'device',
    title: 'Another provider (sign in)',
    name: 'work',
    needsKey: false,
    wire: 'openai',
    login: 'given',
  },
  {
    id: 'claude-cli',
    title: 'Claude Code on this machine',
    name: 'claude-subscription',
    needsKey: false,
    program: {
      usual: 'the installed claude',
      signIn: 'Sign in once with `claude auth login` on the machine that Onyx runs on.',
      token: 'From `claude setup-token`, if you cannot sign in there. Otherwise leave this empty.',
    },
  },
  {
    id: 'pi',
    title: 'Pi on this machine',
    name: 'pi',
    needsKey: false,
    program: {
      usual: 'the sidecar that `make pi` builds',
      signIn: 'Sign in once with Pi on the machine that Onyx runs on: start `pi` and enter /login.',
    },
  },
];
