import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// One browser and one file at a time: two cores are shared with everything else.
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  resolve: { alias: { '@onyx/sdk': fileURLToPath(new URL('../../clients/ts/src/index.ts', import.meta.url)) } },
  test: {
    include: ['web/e2e/**/*.test.ts', 'clients/ts/test/**/*.test.ts'],
    environment: 'node',
    pool: 'forks',
    maxWorkers: 1,
    isolate: false,
    testTimeout: 150_000,
    hookTimeout: 150_000,
    execArgv: ['--experimental-websocket'],
  },
});
