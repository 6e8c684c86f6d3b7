import type { Browser, Page } from 'playwright-core';
import { startIndex } from '../support/index-server.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import type { CallContext } from '../support/toolset-parts.js';
import { until } from '../support/until.js';
import { openTab, startBrowser } from './browser.js';
import { buildPage } from './built-page.js';
import { startService } from './service.js';

let pageFolder: string;
let browser: Browser;

beforeAll(async () => {
  pageFolder = await buildPage();
  browser = await startBrowser();
}, 120_000);

/** The demo's model calls the tool whose words the question shares. */
const findOrder = (answer: string) => ({ name: 'find_order', description: 'Finds an order.', run: () => answer });

const QUESTION = 'Where is my order?';

async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel('Your question').fill(question);
  await page.getByRole('button', { name: 'Ask', exact: true }).click();
}

const toolsetItem = (page: Page, name: string) =>
  page
    .getByRole('region', { name: 'Toolsets' })
    .getByRole('listitem')
    .filter({ has: page.getByText(name, { exact: true }) });

test('a toolset that fails is shown as failing, with its code, and as watching again when it is back', async () => {
  const orders = await startSdkToolset({ era: 'legacy', tools: [findOrder('On its way.')] });
  const index = await startIndex({ orders: orders.url });
  const { baseUrl } = await startService({ pageFolder, mcpUrl: index.url });
  const { page } = await openTab(browser, baseUrl);
  const item = toolsetItem(page, 'orders');
  await item.getByText('watching', { exact: true }).waitFor();
  await item.getByText('1 tool · 2025-').waitFor();

  await orders.kill();
  await item.getByText('failing', { exact: true }).waitFor();
  await item.getByText('TOOLSET_UNREACHABLE').waitFor();
  await item.getByText('its last good tools stay in use').waitFor();
  await page.getByRole('listitem').filter({ hasText: 'Round aborted' }).first().waitFor();

  await orders.restart();
  await item.getByText('watching', { exact: true }).waitFor();
  expect(await item.getByText('TOOLSET_UNREACHABLE').count()).toBe(0);
});

test('the author of a toolset sees whether it announces changes, when it is listed next, and why its newest list waits', async () => {
  const orders = await startSdkToolset({ era: 'legacy', tools: [findOrder('On its way.')] });
  const less = await startSdkToolset({ era: 'stateless', tools: [{ ...findOrder('On its way.'), name: 'find_bill' }] });
  const index = await startIndex({ orders: orders.url, less: less.url });
  const { baseUrl } = await startService({ pageFolder, mcpUrl: index.url });
  const { page } = await openTab(browser, baseUrl);
  await toolsetItem(page, 'less').getByText('polling', { exact: true }).click();
  await toolsetItem(page, 'less')
    .getByText(/^It cannot announce changes\. Its next list is due in \d+ s\.$/)
    .waitFor();
  const item = toolsetItem(page, 'orders');
  await item.getByText('watching', { exact: true }).click();
  await item.getByText('It has announced no change yet.').waitFor();
  orders.setTools([]);
  await item.getByText('It announced a change just now.').waitFor();
  await item.getByText('Its list is suddenly empty, which counts once it has been empty for 30 seconds.').waitFor();
});

test('a credential that was entered goes to the toolset that wants it, and into no storage of the browser', async () => {
  const orders = await startSdkToolset({ era: 'modern', tools: [findOrder('On its way.')] });
  const index = await startIndex();
  index.set(
    { orders: orders.url },
    { toolsets: [{ name: 'orders', url: orders.url, status: 'ok', tools: ['find_order'], credential_headers: ['x-order-token'] }] },
  );
  const { baseUrl } = await startService({ pageFolder, mcpUrl: index.url });
  const { page } = await openTab(browser, baseUrl);

  await page.getByLabel('x-order-token for orders').fill('secret-of-mine');
  await ask(page, QUESTION);
  await page.getByText('On its way.').last().waitFor();
  expect(orders.calls).toMatchObject([{ tool: 'find_order', headers: { 'x-order-token': 'secret-of-mine' } }]);
  expect(await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]')).toEqual([0, 0, '']);
});

test('where the service wants a token, the page asks for it until it is the right one', async () => {
  const orders = await startSdkToolset({ era: 'modern', tools: [findOrder('On its way.')] });
  const index = await startIndex({ orders: orders.url });
  const { baseUrl } = await startService({ pageFolder, mcpUrl: index.url, env: { MCP_AGENT_API_TOKEN: 'api-token' } });
  const { page } = await openTab(browser, baseUrl);
  const dialog = page.getByRole('dialog');
  const enter = async (token: string) => {
    await dialog.getByLabel('Token', { exact: true }).fill(token);
    await page.keyboard.press('Enter');
  };
  await enter('not-the-token');
  await dialog.getByText('The token was refused.').waitFor();
  await enter('api-token');
  await dialog.waitFor({ state: 'hidden' });
  await toolsetItem(page, 'orders').getByText('watching', { exact: true }).waitFor();
  await ask(page, QUESTION);
  await page.getByText('On its way.').last().waitFor();
});

test('an answer can be stopped; its question stays, the next one is answered, and a new conversation is empty', async () => {
  let isStuck = true;
  let cancelled = 0;
  const stuck = (_args: unknown, { signal }: CallContext): Promise<string> | string =>
    isStuck
      ? new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            cancelled += 1;
            reject(new Error('cancelled'));
          });
        })
      : 'On its way.';
  const orders = await startSdkToolset({ era: 'modern', tools: [{ ...findOrder(''), run: stuck }] });
  const index = await startIndex({ orders: orders.url });
  const { baseUrl } = await startService({ pageFolder, mcpUrl: index.url });
  const { page, complaints } = await openTab(browser, baseUrl);
  const turn = (number: number) => page.getByRole('article').nth(number - 1);

  await ask(page, QUESTION);
  await turn(1).getByText('calling').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await turn(1).getByText('Stopped.').waitFor();
  await until(() => cancelled === 1, { what: 'the tool call to be cancelled' });

  isStuck = false;
  await ask(page, 'Where is my other order?');
  await turn(2).getByText('On its way.').last().waitFor();
  await turn(1).getByText('Stopped.').waitFor();
  await page.getByRole('button', { name: 'New conversation' }).click();
  expect(await page.getByRole('article').count()).toBe(0);
  expect(complaints).toEqual([]);
});

test('the whole page can be used by keyboard', async () => {
  const orders = await startSdkToolset({ era: 'modern', tools: [findOrder('On its way.')] });
  const index = await startIndex({ orders: orders.url });
  const { baseUrl } = await startService({ pageFolder, mcpUrl: index.url });
  const { page } = await openTab(browser, baseUrl);
  await toolsetItem(page, 'orders').getByText('watching', { exact: true }).waitFor();
  const tabTo = async (selector: string) => {
    for (let presses = 0; presses < 20; presses += 1) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)}) === true`)) return;
    }
    throw new Error(`No press of Tab leads to ${selector}.`);
  };
  await tabTo('textarea');
  await page.keyboard.type(QUESTION);
  await page.keyboard.press('Enter');
  await page.getByText('On its way.').last().waitFor();
  await tabTo('.toolset summary');
  await page.keyboard.press('Enter');
  await page.getByText('Finds an order.').waitFor();
});

test('on a phone one half is shown at a time, and nothing is wider than the screen', async () => {
  const orders = await startSdkToolset({ era: 'modern', tools: [findOrder('On its way, with a word_that_is_very_long_'.repeat(6))] });
  const index = await startIndex({ 'orders-with-a-rather-long-name-of-its-own': orders.url });
  const { baseUrl } = await startService({ pageFolder, mcpUrl: index.url });
  const { page } = await openTab(browser, baseUrl, { viewport: { width: 360, height: 740 } });
  const overflow = () =>
    page.evaluate(
      'Math.max(...[document.documentElement, ...document.querySelectorAll(".turns, .service")].map((it) => it.scrollWidth - it.clientWidth))',
    );
  await ask(page, QUESTION);
  await page.getByText('On its way').last().waitFor();
  expect(await overflow()).toBe(0);
  expect(await page.getByRole('region', { name: 'Toolsets' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Toolsets' }).click();
  await page.getByRole('region', { name: 'Toolsets' }).waitFor();
  expect(await page.getByLabel('Your question').isVisible()).toBe(false);
  expect(await overflow()).toBe(0);
});
