// The package as users get it: packed, unpacked into a new folder, and used as an ES module, as CommonJS and by a
// compiler. The examples of the documents run with it against a live server.

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stage, TOKEN, type Answer, type Stage } from '../../../web/e2e/stage';

const run = promisify(execFile);
const here = fileURLToPath(new URL('..', import.meta.url));
const compiler = join(here, 'node_modules/typescript/bin/tsc');
const QUESTION: Answer[] = [
  { calls: [{ id: 'q', name: 'ask_person', input: { question: 'Oak or larch?' } }] },
  { text: 'Larch it is.' },
];

let at: Stage;
let folder: string;
let packed: string[];

beforeAll(async () => {
  at = await stage([], { fallback: { text: 'Nothing is due.' } });
  folder = await mkdtemp(join(tmpdir(), 'onyx-pack-'));
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: here });
  // Some versions of npm print messages of the build to the same stream.
  const [told] = JSON.parse(stdout.slice(stdout.indexOf('[\n'))) as { filename: string; files: { path: string }[] }[];
  packed = told?.files.map(({ path }) => path) ?? [];
  const target = join(folder, 'node_modules/@onyx/sdk');
  await mkdir(target, { recursive: true });
  await run('tar', ['-xzf', join(folder, told?.filename ?? ''), '-C', target, '--strip-components=1']);
});
afterAll(() => at.end());

const inFolder = (program: string, words: string[]) =>
  run(program, words, { cwd: folder, env: { ...process.env, ONYX_URL: at.url, ONYX_TOKEN: TOKEN } });

test('the package holds what is used and nothing else', () => {
  for (const path of ['README.md', 'package.json', 'dist/LICENSE-MIT', 'examples/chat.mjs'])
    expect(packed).toContain(path);
  for (const form of ['esm', 'cjs'])
    for (const kind of ['js', 'd.ts']) expect(packed).toContain(`dist/${form}/index.${kind}`);
  expect(packed.filter((path) => !/^(dist|examples)\/|^README.md$|^package.json$/.test(path))).toEqual([]);
});

test('its types are found by both kinds of modules, and refuse what is wrong', async () => {
  const use = `const onyx = new Onyx({ baseUrl: 'http://127.0.0.1:1' });
    export const title: Promise<string> = onyx.sessions.get('x').then((session) => session.title ?? '');
    export const retry = (error: OnyxError): number | undefined => error.retryAfterSeconds;
    export async function words() { for await (const chunk of onyx.chat.stream({ message: 'hi' })) if (chunk.type === 'confirm') return chunk.draftId; return ''; }
    const item: RagContextItem = { sourceId: 's', chunkId: 'c', text: 't', score: 1, sourceName: 'n', matchType: 'fts', scopeType: 'thread' };
    export const answer = () => onyx.chat.stream({ messages: [{ role: 'user', content: 'hi' }], ragContext: [item] });\n`;
  await writeFile(
    join(folder, 'good.mts'),
    `import { Onyx, OnyxError, type RagContextItem } from '@onyx/sdk';\n${use}`,
  );
  await writeFile(
    join(folder, 'good.cts'),
    `import sdk = require('@onyx/sdk');\nimport { Onyx, OnyxError, type RagContextItem } from '@onyx/sdk';\n${use}export const again = new sdk.Onyx({ baseUrl: 'x' });\n`,
  );
  await writeFile(
    join(folder, 'bad.mts'),
    `import { Onyx } from '@onyx/sdk';\nconst onyx = new Onyx({ baseUrl: 'x' });\nvoid onyx.jobs.create(7, {});\nvoid onyx.drafts.approve('x', { scope: 'ever' });\n`,
  );
  const compilerOptions = { noEmit: true, strict: true, module: 'nodenext', target: 'es2022', types: [] };
  const config = { compilerOptions, files: ['good.mts', 'good.cts', 'bad.mts'] };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const { stdout } = await inFolder(process.execPath, [compiler, '-p', '.']).catch(
    (error: { stdout: string }) => error,
  );
  const places = [...stdout.matchAll(/^(\S+?\(\d+),\d+\): error/gm)].map(([, place]) => place);
  expect(places, stdout).toEqual(['bad.mts(3', 'bad.mts(4']);
});

test('the examples work, as an ES module and as CommonJS', async () => {
  const example = (name: string) => join('node_modules/@onyx/sdk/examples', name);
  const chat = await inFolder('node', [example('chat.mjs'), 'What is due?']);
  expect(chat.stdout).toBe('Nothing is due.');
  const session = /\S+$/.exec(chat.stderr.trim())?.[0] ?? '';
  expect((await inFolder('node', [example('chat.mjs'), 'And now?', session])).stderr).toContain(session);
  expect((await inFolder('node', [example('inbox.cjs')])).stdout).toBe('0 in all\n');
  const wrong = await inFolder('node', [example('inbox.cjs'), 'approve', '7']).catch(
    (error: { stderr: string }) => error,
  );
  expect(wrong.stderr).toContain('invalid_request');
});

/** The marked code blocks of a document, each with the line at which it begins. */
async function fences(document: string): Promise<{ name: string; code: string }[]> {
  const text = await readFile(join(here, document), 'utf8');
  return [...text.matchAll(/^```js run\n([\s\S]*?)^```$/gm)].map((found) => ({
    name: `${document}:${text.slice(0, found.index).split('\n').length}`,
    code: found[1] ?? '',
  }));
}

test.each(['README.md', '../../docs/sdk.md'])('what %s shows works as it is', async (document) => {
  const found = await fences(document);
  expect(found.length).toBeGreaterThan(0);
  for (const [index, { name, code }] of found.entries()) {
    await at.script(code.includes("'confirm'") ? QUESTION : [], { text: 'Nothing is due.' });
    const file = join(folder, `fence-${index}.mjs`);
    await writeFile(file, code);
    const { stdout } = await inFolder('node', [file]);
    expect(stdout.trim(), name).not.toBe('');
    if (code.includes("'confirm'")) expect(stdout, name).toContain('0 wait for you');
    else if (code.includes('chat.stream')) expect(stdout, name).toContain('Nothing is due.');
  }
});
