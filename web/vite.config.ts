import { fileURLToPath } from 'node:url';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { compress } from './build/compress';
import { serviceWorker } from './build/service-worker';

const server = process.env['ONYX_DEV_SERVER'] ?? 'http://127.0.0.1:18790';
const proxied = ['/api', '/v1', '/auth', '/health', '/ready', '/openapi.json', '/docs', '/manual'];

export default defineConfig({
  plugins: [react({ jsxImportSource: '@onyx/jsx' }), tailwind(), serviceWorker(), compress()],
  resolve: {
    alias: {
      '@onyx/sdk': fileURLToPath(new URL('../clients/ts/src/index.ts', import.meta.url)),
      '@onyx/jsx': fileURLToPath(new URL('./src/jsx', import.meta.url)),
    },
  },
  build: {
    target: 'es2023',
    outDir: 'dist',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 2000,
  },
  server: {
    // The server compares Origin with Host, so the proxy must send the server's own address.
    proxy: {
      ...Object.fromEntries(
        proxied.map((path) => [path, { target: server, changeOrigin: true, headers: { origin: server } }]),
      ),
      '/ws': { target: server, ws: true, changeOrigin: true, headers: { origin: server } },
    },
  },
});
