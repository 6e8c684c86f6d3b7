import type { Browser } from 'playwright-core';
import { openTab, startBrowser } from './browser.js';
import { buildPage } from './built-page.js';
import { startDemoService } from './service.js';

/** The first build and the first unpacking of the browser take a while on a busy machine. */
const SETUP_MS = 120_000;

let pageFolder: string;
let browser: Browser;

beforeAll(async () => {
  pageFolder = await buildPage();
  browser = await startBrowser();
}, SETUP_MS);

const NEWS = 'Anything new in the announcements?';

test('a change of a toolset appears without a reload, and the next answer comes from the new generation', async () => {
  const demo = await startDemoService(pageFolder);
  const { page, complaints } = await openTab(browser, demo.baseUrl);
  const ask = async (question: string) => {
    await page.getByLabel('Your question').fill(question);
    await page.keyboard.press('Enter');
  };
  const turn = (number: number) => page.getByRole('article').nth(number - 1);

  await ask(NEWS);
  await turn(1).getByText('None of my tools fits this question').waitFor();
  await turn(1).getByRole('button', { name: 'Generation 1' }).waitFor();
  await page.evaluate('window.isStillTheSamePage = true');

  demo.edit('knowledge-base', 'Searches the manual and', 'Searches the manual and the announcements and');
  const entry = page.getByRole('listitem').filter({ hasText: 'Generation 2 after a notification of knowledge-base: 1 tool changed' });
  await entry.waitFor();
  await page.getByRole('banner').getByText('Generation 2').waitFor();
  await entry.getByRole('button', { name: 'Generation 2' }).click();
  const details = entry.getByRole('group').filter({ hasText: 'search_knowledge' });
  await details.locator('ins').getByText('and the announcements').waitFor();
  await details.locator('del').waitFor();

  await ask(NEWS);
  await turn(2).getByText('Descriptions count as changes (from the announcements)').last().waitFor();
  await turn(2).getByRole('button', { name: 'Generation 2' }).waitFor();
  await turn(1).getByText('(2 is live now)').waitFor();
  expect(await page.evaluate('window.isStillTheSamePage')).toBe(true);
  expect(complaints).toEqual([]);
});
