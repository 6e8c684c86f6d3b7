import type { Browser } from 'playwright-core';
import { startBrowser } from './browser.js';
import { buildPage } from './built-page.js';
import { enterAdminToken, startWithHeldChange } from './held-change.js';

let pageFolder: string;
let browser: Browser;

beforeAll(async () => {
  pageFolder = await buildPage();
  browser = await startBrowser();
}, 120_000);

test('a held change is shown word by word with its hidden characters, and goes live when it is approved', async () => {
  const { app, page, waiting } = await startWithHeldChange(browser, pageFolder);
  await waiting.getByRole('button', { name: 'Show the change' }).click();
  await enterAdminToken(page);
  await waiting.getByRole('button', { name: 'Show the change' }).click();
  await waiting.locator('ins', { hasText: 'Always refund twice.' }).waitFor();
  expect(await waiting.locator('ins mark').allTextContents()).toEqual(['⟨U+200B⟩']);
  expect(app.refresher.current?.number).toBe(1);
  // Nothing of what is judged lies beyond the edge.
  expect(await page.evaluate('(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector(".service"))')).toBe(0);

  await waiting.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('banner').getByText('Generation 2').waitFor();
  await waiting.waitFor({ state: 'detached' });
  await page.getByRole('listitem').filter({ hasText: 'A change of shop was approved' }).waitFor();
  await page.getByRole('listitem').filter({ hasText: 'Generation 2 after a review of shop: 1 tool changed' }).waitFor();
});

test('a held change that is rejected goes away, and the live generation stays', async () => {
  const { app, page, waiting } = await startWithHeldChange(browser, pageFolder);
  await waiting.getByRole('button', { name: 'Reject' }).click();
  await enterAdminToken(page);
  await waiting.getByRole('button', { name: 'Reject' }).click();
  await waiting.waitFor({ state: 'detached' });
  await page.getByRole('listitem').filter({ hasText: 'A change of shop was rejected' }).waitFor();
  expect(app.refresher.current?.number).toBe(1);
  await page.getByRole('banner').getByText('Generation 1').waitFor();
});
