// Groups chats by when they were last used. Pure.

interface Dated {
  updatedAt: string;
  pinned?: boolean;
}

const DAY_MS = 86_400_000;

/** Pinned chats first, then groups by age; empty groups are left out. The order within a group is kept. */
export function byAge<T extends Dated>(sessions: T[], now = new Date()): [string, T[]][] {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const groups = new Map<string, T[]>();
  for (const name of ['Pinned', 'Today', 'Yesterday', 'Last 7 days', 'Last 30 days', 'Older']) groups.set(name, []);
  for (const session of sessions)
    groups.get(session.pinned ? 'Pinned' : groupOf(session.updatedAt, midnight))?.push(session);
  return [...groups].filter(([, members]) => members.length > 0);
}

function groupOf(time: string, midnight: number): string {
  const at = new Date(time).getTime();
  if (at >= midnight) return 'Today';
  if (at >= midnight - DAY_MS) return 'Yesterday';
  if (at >= midnight - 6 * DAY_MS) return 'Last 7 days';
  return at >= midnight - 29 * DAY_MS ? 'Last 30 days' : 'Older';
}
