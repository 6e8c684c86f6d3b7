import { writeFileSync } from 'node:fs';
import { errorsPage } from './errors-page.js';

/** `npm run docs:errors` runs this file with jest's means, which read the sources as they are. */
test('docs/errors.md is written', () => {
  writeFileSync('docs/errors.md', errorsPage());
});
