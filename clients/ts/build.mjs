// Builds dist/: the same sources as ES modules and as CommonJS, each with types.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import typescript from 'typescript';

const at = (path) => new URL(path, import.meta.url);

rmSync(at('dist'), { recursive: true, force: true });
const compiler = fileURLToPath(at('node_modules/typescript/bin/tsc'));
const options = ['--noEmit', 'false', '--declaration', '--target', 'ES2022', '--outDir', 'dist/esm'];
execFileSync(process.execPath, [compiler, '-p', '.', ...options], { cwd: fileURLToPath(at('.')), stdio: 'inherit' });

// The types were checked once; the other form differs only in how modules are loaded.
mkdirSync(at('dist/cjs'));
const { ModuleKind, ScriptTarget } = typescript;
const compilerOptions = { module: ModuleKind.CommonJS, target: ScriptTarget.ES2022 };
for (const name of readdirSync(at('src'))) {
  const { outputText } = typescript.transpileModule(readFileSync(at(`src/${name}`), 'utf8'), { compilerOptions });
  writeFileSync(at(`dist/cjs/${name.replace(/\.ts$/, '.js')}`), outputText);
  const types = name.replace(/\.ts$/, '.d.ts');
  cpSync(at(`dist/esm/${types}`), at(`dist/cjs/${types}`));
}

// Node decides the kind of a module by the nearest package.json.
for (const [folder, type] of Object.entries({ esm: 'module', cjs: 'commonjs' }))
  writeFileSync(at(`dist/${folder}/package.json`), `${JSON.stringify({ type })}\n`);
for (const licence of ['LICENSE-MIT', 'LICENSE-APACHE']) cpSync(at(`../../${licence}`), at(`dist/${licence}`));
