// Writes src/generated.ts from docs/openapi.json; with --check it only reports whether the file would change.
import { readFile, writeFile } from 'node:fs/promises';
import openapi, { astToString } from 'openapi-typescript';

const target = new URL('src/generated.ts', import.meta.url);
const document = JSON.parse(await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8'));
// Callers need schemas and not paths, because the methods of this client stand for the paths.
const { openapi: version, info, components } = document;
const types = astToString(
  await openapi({ openapi: version, info, paths: {}, components: { schemas: components.schemas } }),
);
const classes = JSON.stringify(components.schemas.ErrorCode['x-classes'], undefined, 4);
const table = `/** Where each error comes from. */\nexport const ERROR_CLASSES = ${classes} as const;\n`;
const text = `// Made from docs/openapi.json by generate.mjs. Change the server and run \`make docs\`.\n\n${types.slice(types.indexOf('export interface components'), types.indexOf('export type $defs'))}${table}`;

if (process.argv.includes('--check')) {
  const committed = await readFile(target, 'utf8').catch(() => '');
  if (committed !== text) {
    console.error('clients/ts/src/generated.ts does not fit docs/openapi.json: run `make docs`');
    process.exit(1);
  }
} else {
  await writeFile(target, text);
}
