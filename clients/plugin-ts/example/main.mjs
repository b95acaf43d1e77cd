// @ts-check
// A connector over a local pipe. Lines of JSON {id, peer, text} that are appended to `in.jsonl` in the plugin's own folder
// are messages; answers are appended to `out.jsonl`, each once by its key.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Plugin } from './onyx-plugin.mjs';

const folder = process.env.PLUGIN_DATA ?? '.';
const [incoming, outgoing, read] = ['in.jsonl', 'out.jsonl', 'read'].map((name) => join(folder, name));
const lines = (file) => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);

const plugin = new Plugin();

plugin.connector('pipe', ({ key, peer, text, buttons }) => {
  const isThere = lines(outgoing).some((line) => JSON.parse(line).key === key);
  if (!isThere) appendFileSync(outgoing, `${JSON.stringify({ key, peer, text, buttons })}\n`);
  return key;
});

plugin.onStarted(async () => {
  for (let next = lines(read).length; ; ) {
    const waiting = lines(incoming).slice(next);
    for (const line of waiting) {
      await plugin.deliver('pipe', JSON.parse(line));
      // Onyx has stored the message, so after a crash the plugin continues behind it.
      appendFileSync(read, '\n');
      next += 1;
    }
    await wait(100);
  }
});

await plugin.run();
