import { mkdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { startIndex } from '../support/index-server.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { openTab, startBrowser } from './browser.js';
import { buildPage } from './built-page.js';
import { enterAdminToken, startWithHeldChange } from './held-change.js';
import { startDemoService, startService } from './service.js';

/** Where the pictures go; `npm run screenshots` runs this file with jest's means, on the same parts as the tests. */
const FOLDER = 'docs/screenshots';
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 800 };

let pageFolder: string;
let browser: Browser;

beforeAll(async () => {
  mkdirSync(FOLDER, { recursive: true });
  pageFolder = await buildPage();
  browser = await startBrowser();
}, 120_000);

async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel('Your question').fill(question);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Ask', exact: true }).waitFor();
}

describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
  test('a changed description, before and after', async () => {
    const demo = await startDemoService(pageFolder);
    const { page } = await openTab(browser, demo.baseUrl, { colorScheme, viewport: DESKTOP });
    await ask(page, 'Anything new in the announcements?');
    demo.edit('knowledge-base', 'Searches the manual and', 'Searches the manual and the announcements and');
    const generation = page.getByRole('listitem').getByRole('button', { name: 'Generation 2' });
    await generation.waitFor();
    await ask(page, 'Anything new in the announcements?');
    await generation.click();
    await page.screenshot({ path: `${FOLDER}/change-${colorScheme}.png` });
    await page.setViewportSize(PHONE);
    await page.screenshot({ path: `${FOLDER}/phone-chat-${colorScheme}.png` });
    await page.getByRole('button', { name: 'Toolsets' }).click();
    await page.screenshot({ path: `${FOLDER}/phone-toolsets-${colorScheme}.png` });
  });

  test('a view, and what the model is shown', async () => {
    const demo = await startDemoService(pageFolder);
    const { page } = await openTab(browser, demo.baseUrl, { colorScheme, viewport: DESKTOP });
    await ask(page, 'Which places are near Vienna?');

    await page.frameLocator('iframe').getByText('Prague').first().waitFor();
    await page.locator('.toolset').getByText('places', { exact: true }).click();
    await page.screenshot({ path: `${FOLDER}/view-${colorScheme}.png` });
  });

  test('a failing toolset', async () => {
    const tool = (name: string, description: string) => ({ name, description, run: () => 'done' });
    const orders = await startSdkToolset({ era: 'legacy', name: 'orders', tools: [tool('find_order', 'Finds an order by its number.')] });
    const tickets = await startSdkToolset({
      era: 'stateless',
      name: 'tickets',
      tools: [tool('open_ticket', 'Opens a ticket for the support team.'), tool('list_tickets', 'Lists the open tickets.')],
    });
    const index = await startIndex({ orders: orders.url, tickets: tickets.url });
    index.set(
      { orders: orders.url, tickets: tickets.url },
      { toolsets: [{ name: 'tickets', url: tickets.url, status: 'ok', tools: [], credential_headers: ['x-ticket-token'] }] },
    );
    const service = await startService({ pageFolder, mcpUrl: index.url });
    await orders.kill();
    const { page } = await openTab(browser, service.baseUrl, { colorScheme, viewport: DESKTOP });
    await page.locator('.toolset').getByText('failing', { exact: true }).waitFor();
    await page.screenshot({ path: `${FOLDER}/failing-${colorScheme}.png` });
  });

  test('a change that waits for a decision', async () => {
    const { page, waiting } = await startWithHeldChange(browser, pageFolder, { colorScheme, viewport: DESKTOP });
    await waiting.getByRole('button', { name: 'Show the change' }).click();
    await enterAdminToken(page);
    await waiting.getByRole('button', { name: 'Show the change' }).click();
    await waiting.locator('ins').first().waitFor();
    await page.screenshot({ path: `${FOLDER}/review-${colorScheme}.png` });
  });
});
