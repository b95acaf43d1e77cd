import type { ComponentType } from 'react';
import { Budgets } from './Budgets';
import { Devices } from './Devices';
import { General } from './General';
import { Import } from './Import';
import { People } from './People';
import { Providers } from './Providers';
import { RawConfig } from './RawConfig';
import { Tokens } from './Tokens';
import { You } from './You';

interface SettingsSection {
  id: string;
  title: string;
  /** Search words of the section. */
  words: string;
  owner?: boolean;
  Body: ComponentType;
}

export const SECTIONS: SettingsSection[] = [
  {
    id: 'general',
    title: 'General',
    words:
      'appearance theme light dark system writing enter send steer queue keyboard notifications help manual docs api sign out browser',
    Body: General,
  },
  {
    id: 'you',
    title: 'You',
    words:
      'account person name password standing instructions agents.md user.md runtime fallback subscription actions folder refresh linkedin connect account',
    Body: You,
  },
  {
    id: 'providers',
    title: 'Providers',
    words: 'models keys api openai anthropic ollama test connect',
    owner: true,
    Body: Providers,
  },
  { id: 'people', title: 'People', words: 'members household add remove password', owner: true, Body: People },
  { id: 'tokens', title: 'Tokens', words: 'api keys access revoke sessions', owner: true, Body: Tokens },
  { id: 'devices', title: 'Devices', words: 'pair pairing code phone browser', owner: true, Body: Devices },
  { id: 'budgets', title: 'Budgets', words: 'cost spending limits money tokens day', owner: true, Body: Budgets },
  {
    id: 'import',
    title: 'Import',
    words: 'move migrate export chatgpt claude openclaw nanobot open webui conversations',
    owner: true,
    Body: Import,
  },
  {
    id: 'config',
    title: 'Configuration',
    words: 'onyx.json raw file json validation last good',
    owner: true,
    Body: RawConfig,
  },
];
