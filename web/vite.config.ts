import process from 'node:process';
import { defineConfig } from 'vite';

// Vite heeds the value of whoever builds. With any but this one the page would hold React's large form for developers, and paths of the machine.
process.env.NODE_ENV = 'production';

/** Builds the page into `dist/page`. Its addresses are relative, so that a host may mount the router below any path. */
export default defineConfig({
  base: './',
  logLevel: 'warn',
  build: {
    outDir: '../dist/page',
    emptyOutDir: true,
    target: 'es2022',
    // The polyfill would fetch modules in a way that the page's policy has no need to allow.
    modulePreload: { polyfill: false },
    // The page's policy allows no `data:` addresses for scripts and styles, so nothing is written into the files that refer to it.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 700,
  },
});
