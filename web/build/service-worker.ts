import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Plugin } from 'vite';

/** Writes the list of the app shell's files, and a version derived from it, into `sw.js`. */
export function serviceWorker(): Plugin {
  let root = '';
  return {
    name: 'onyx-service-worker',
    apply: 'build',
    configResolved(config) {
      root = config.root;
    },
    async generateBundle(_, bundle) {
      const shell = new Set<string>();
      const visit = (name: string) => {
        const chunk = bundle[name];
        if (!chunk || shell.has(name)) return;
        shell.add(name);
        if (chunk.type !== 'chunk') return;
        chunk.imports.forEach(visit);
        for (const css of chunk.viteMetadata?.importedCss ?? []) shell.add(css);
      };
      for (const [name, chunk] of Object.entries(bundle)) {
        if (chunk.type === 'chunk' && chunk.isEntry) visit(name);
      }
      const files = [...shell]
        .filter((name) => name.startsWith('assets/'))
        .map((name) => `/${name}`)
        .sort();
      const version = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 12);
      const source = await readFile(join(root, 'src/sw.js'), 'utf8');
      const filled = source.replace('__VERSION__', version).replace('__FILES__', JSON.stringify(files));
      this.emitFile({ type: 'asset', fileName: 'sw.js', source: filled });
    },
  };
}
