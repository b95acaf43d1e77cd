// All pages of the app, for rules that every page must follow.

import type { Furnished } from './furnished';

export interface Place {
  name: string;
  path: (home: Furnished) => string;
  /** The page shows no data of the server, so nothing loads or fails. */
  isStatic?: true;
  /** What the page shows in a new home, which lacks its data. */
  empty?: string;
}

export const PLACES: Place[] = [
  { name: 'chat', path: (home) => `/chat/${home.chat}`, empty: '/chat' },
  { name: 'sessions', path: () => '/sessions' },
  { name: 'more', path: () => '/more', isStatic: true },
  { name: 'inbox', path: () => '/inbox' },
  { name: 'memory', path: () => '/memory?q=cabin', empty: '/memory' },
  { name: 'file', path: () => '/memory?path=vault%2Fnotes%2Fcabin.md', empty: '/memory?path=vault%2Fnew.md' },
  { name: 'spaces', path: () => '/spaces' },
  { name: 'space', path: () => '/spaces/home-renovation/pages/floor', empty: '/spaces/none' },
  { name: 'tasks', path: () => '/spaces/home-renovation/tasks', empty: '/spaces/none/tasks' },
  { name: 'refs', path: () => '/spaces/home-renovation/refs', empty: '/spaces/none/refs' },
  { name: 'channels', path: () => '/channels' },
  { name: 'channel', path: () => '/channels/floors', empty: '/channels/none' },
  { name: 'thread', path: (home) => `/channels/floors/${home.thread}`, empty: '/channels/none/none' },
  { name: 'agents', path: () => '/agents' },
  { name: 'agent', path: () => '/agents/main/persona' },
  { name: 'actions', path: () => '/actions' },
  { name: 'jobs', path: () => '/jobs' },
  { name: 'you', path: () => '/settings/you' },
  { name: 'settings', path: () => '/settings/providers' },
  { name: 'health', path: () => '/system' },
  { name: 'logs', path: () => '/system/logs' },
  { name: 'usage', path: () => '/system/usage' },
  { name: 'audit', path: () => '/system/audit' },
];
