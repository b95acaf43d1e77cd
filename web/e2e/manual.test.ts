import { expect, test } from 'vitest';
import { clearsAfterEach, open, share } from './play';

clearsAfterEach();

test('the manual and the API page open from the settings, and the manual is searched without the network', async () => {
  const at = await share([]);
  const page = await open(at, '/settings/general');
  const opened = async (name: string) => {
    const next = page.context().waitForEvent('page');
    await page.getByRole('link', { name }).click();
    const other = await next;
    await other.waitForLoadState();
    return other;
  };
  const api = await opened('Open the API page');
  expect(new URL(api.url()).pathname).toBe('/docs');
  await api.close();

  const manual = await opened('Open the manual');
  expect(new URL(manual.url()).pathname).toBe('/manual/');
  const refused: string[] = [];
  manual.on('console', (message) => {
    if (message.type() === 'error') refused.push(message.text());
  });
  // The binary contains everything that a page needs, so the search works without network access.
  const elsewhere: string[] = [];
  manual.on('request', (request) => {
    if (!request.url().startsWith(at.url)) elsewhere.push(request.url());
  });
  await manual.goto(`${at.url}/manual/howto/household.html`);
  await manual.getByRole('link', { name: 'Config', exact: true }).first().waitFor();
  await manual.keyboard.press('s');
  await manual.getByRole('searchbox').pressSequentially('heartbeat');
  const found = manual.locator('#mdbook-searchresults li a, #searchresults li a').first();
  await found.waitFor();
  await found.click();
  await manual.waitForURL(/\/manual\/.*\.html/);
  await expect.poll(() => manual.locator('main').innerText()).toContain('heartbeat');
  expect({ refused, elsewhere }).toEqual({ refused: [], elsewhere: [] });
});
