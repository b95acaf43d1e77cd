// openapi-typescript: types made from /openapi.json, checked by TypeScript in a program that makes five calls.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { TOKEN, tell, URL } from '../scenario.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const tool = (name) => join(here, '../node_modules/.bin', name);
const run = (name, ...args) => execFileSync(tool(name), args, { cwd: here, encoding: 'utf8', stdio: 'pipe' });

writeFileSync(join(here, 'openapi.json'), await (await fetch(`${URL}/openapi.json`)).text());
// A field with a default may be absent; without this option the generator treats it as always present.
run('openapi-typescript', 'openapi.json', '--default-non-nullable', 'false', '--output', 'made.ts');
try {
  run('tsc', '--strict', '--target', 'es2022', '--module', 'nodenext', '--skipLibCheck', 'calls.ts');
} catch (error) {
  process.stderr.write(error.stdout);
  throw error;
}
const { calls } = await import(pathToFileURL(join(here, 'calls.js')).href);
for (const [name, call] of Object.entries(calls(URL, TOKEN))) {
  let error = null;
  try {
    await call();
  } catch (thrown) {
    error = String(thrown?.stack ?? thrown);
  }
  tell(name, 'openapi', 'onyx', error);
}
if (!readFileSync(join(here, 'made.ts'), 'utf8').includes('/v1/models')) throw new Error('nothing was made');
