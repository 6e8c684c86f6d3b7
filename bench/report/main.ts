import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { RECORD_FILE } from '../harness/options.js';
import { readRecord } from '../harness/record.js';
import { CHART_FOLDER, reportFiles } from './files.js';

/** The command `npm run bench:report`: writes docs/benchmarks.md and its charts. A file's name as argument takes the results from there. */
rmSync(CHART_FOLDER, { recursive: true, force: true });
mkdirSync(CHART_FOLDER, { recursive: true });
for (const [file, text] of reportFiles(readRecord(process.argv[2] ?? RECORD_FILE))) writeFileSync(file, text);
