import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// There are two workers for two cores. Each starts one browser for all of its files, and every server has its own port
// and home, so that the workers do not affect each other.
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  resolve: { alias: { '@onyx/sdk': fileURLToPath(new URL('../../clients/ts/src/index.ts', import.meta.url)) } },
  test: {
    include: ['web/e2e/**/*.test.ts', 'clients/ts/test/**/*.test.ts'],
    globalSetup: 'web/e2e/folder.ts',
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    isolate: false,
    testTimeout: 150_000,
    hookTimeout: 150_000,
    // The same time limit as for the browser, because the machine may be busy.
    expect: { poll: { timeout: 30_000 } },
    execArgv: ['--experimental-websocket'],
  },
});
