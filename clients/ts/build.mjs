// Makes dist/: the same sources as ES modules and as CommonJS, each with its types.
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const compiler = fileURLToPath(new URL('node_modules/typescript/bin/tsc', import.meta.url));
const forms = [
  { folder: 'esm', type: 'module', module: 'ESNext', resolution: 'bundler' },
  { folder: 'cjs', type: 'commonjs', module: 'CommonJS', resolution: 'node10' },
];

rmSync(new URL('dist', import.meta.url), { recursive: true, force: true });
for (const { folder, type, module, resolution } of forms) {
  const options = ['--noEmit', 'false', '--declaration', '--module', module, '--moduleResolution', resolution];
  const target = ['--outDir', `dist/${folder}`, '--target', 'ES2022'];
  execFileSync(process.execPath, [compiler, '-p', '.', ...options, ...target], { cwd: here, stdio: 'inherit' });
  // Node takes a file for what the nearest package.json says.
  writeFileSync(new URL(`dist/${folder}/package.json`, import.meta.url), `${JSON.stringify({ type })}\n`);
}
for (const licence of ['LICENSE-MIT', 'LICENSE-APACHE']) {
  cpSync(new URL(`../../${licence}`, import.meta.url), new URL(`dist/${licence}`, import.meta.url));
}
