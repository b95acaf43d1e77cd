import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Plugin } from 'vite';

const TEXT = /\.(js|css|html|svg|json|webmanifest|txt|map)$/;

/**
 * Replaces each text file by `x.br` and `x.gz`, which the server sends unchanged. So the binary does not contain a
 * third, uncompressed copy.
 */
export function compress(): Plugin {
  let folder = '';
  return {
    name: 'onyx-compress',
    apply: 'build',
    enforce: 'post',
    configResolved(config) {
      folder = resolve(config.root, config.build.outDir);
    },
    async closeBundle() {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile() && TEXT.test(entry.name));
      await Promise.all(files.map((file) => replace(join(file.parentPath, file.name))));
    },
  };
}

async function replace(path: string): Promise<void> {
  const text = await readFile(path);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: text.length } };
  await writeFile(`${path}.br`, await promisify(brotliCompress)(text, quality));
  await writeFile(`${path}.gz`, await promisify(gzip)(text, { level: 9 }));
  await rm(path);
}
