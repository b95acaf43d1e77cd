// Makes a session with many messages by repeating a real exchange in its log.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stage } from './stage';

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Sends one message and then repeats the exchange in the log `exchanges` times. Returns the session's id. */
export async function longSession(at: Stage, exchanges: number): Promise<string> {
  const answer = await at.api('/api/agent/chat', { method: 'POST', body: JSON.stringify({ message: 'question' }) });
  const { session_id: id } = (await answer.json()) as { session_id: string };
  const folder = join(at.home, 'people/owner/sessions/main');
  const file = join(folder, (await readdir(folder)).find((name) => name === `${id}.jsonl`) ?? '');
  const lines = (await readFile(file, 'utf8')).trim().split('\n');
  let counter = 0;
  const copies = Array.from({ length: exchanges }, () => {
    const fresh = new Map<string, string>();
    const renamed = (old: string) => {
      const known =
        fresh.get(old) ??
        `019a0000-${(counter >> 16).toString(16).padStart(4, '0')}-7000-8000-${(counter += 1).toString(16).padStart(12, '0')}`;
      fresh.set(old, known);
      return known;
    };
    return lines.map((line) => line.replace(ID, renamed)).join('\n');
  });
  await at.kill();
  await writeFile(file, `${copies.join('\n')}\n`);
  await at.start();
  await at.api('/api/admin/reindex', { method: 'POST', body: '{}' });
  return id;
}
