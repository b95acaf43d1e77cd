import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// Two workers for two cores. Each starts one browser for all of its files and every server on a port and home of its own, so
// that nothing of one worker reaches the other.
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
    // As long as the browser is given for the same on a busy machine.
    expect: { poll: { timeout: 30_000 } },
    execArgv: ['--experimental-websocket'],
  },
});
