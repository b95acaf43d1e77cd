import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: {
    alias: {
      '@onyx/sdk': fileURLToPath(new URL('../clients/ts/src/index.ts', import.meta.url)),
      '@onyx/jsx': fileURLToPath(new URL('./src/jsx', import.meta.url)),
    },
  },
  test: { include: ['test/**/*.test.{ts,tsx}'], environment: 'node' },
});
