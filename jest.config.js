// Tests run as native ES modules; swc only strips the types. `tsc` checks them (npm run types).
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/tests'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' }, sourceMaps: 'inline' },
    ],
  },
  // Sources import each other by their compiled names (`./x.js`), as Node asks for.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  testMatch: ['**/*.test.ts'],
  testTimeout: 30_000,
  maxWorkers: 2,
  // Native modules loaded through jest stay in memory; a worker that has grown is replaced between two files.
  workerIdleMemoryLimit: '1GB',
  openHandlesTimeout: 5_000,
};
