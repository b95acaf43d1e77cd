import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { borrow, giveBack, PHONE, stage, visit, WIDE, type Stage, type Visit } from './stage';

const NOTES = `# Cabin\n\n${Array.from({ length: 80 }, (_, index) => `Line ${index + 3} says little.`).join('\n')}\n\nThe zirbelholz lies in the shed.\n`;
const NOTE = 'people/owner/vault/notes/cabin.md';

let at: Stage;
// These pages share one server and home, as those of one person would.
beforeAll(async () => {
  at = await stage([], { files: { [NOTE]: NOTES, 'agents/main/SOUL.md': '# Main\n' } });
});
afterAll(() => at.end());

describe.each([
  ['1280', WIDE],
  ['390', PHONE],
])('at %s px', (_, viewport) => {
  let page: Visit;
  const open = async (path: string) => {
    page = await borrow(at, path, viewport);
    return page;
  };

  afterEach(() => giveBack(page));

  const dialog = () => page.getByRole('dialog');
  const toast = (words: string | RegExp) =>
    page.getByRole('region', { name: 'Notices' }).getByText(words).last().waitFor();
  const section = (name: string) => page.getByRole('region', { name });

  test('a provider is added, fails its test with advice, is mended, passes, lists its models and is removed', async () => {
    await open('/settings/providers');
    await page.getByRole('button', { name: 'Add' }).click();
    await dialog().getByLabel('Name').fill('second');
    await dialog().getByLabel('Address').fill('http://127.0.0.1:9/v1');
    await dialog().getByLabel('Key').fill('sk-a-long-secret-key-of-somebody');
    await dialog().getByRole('button', { name: 'Save and test' }).click();
    await dialog().getByRole('status').waitFor();
    await dialog().getByLabel('Address').fill(at.model);
    await dialog().getByRole('button', { name: 'Save and test' }).click();
    await toast(/second works/);
    const row = page.locator('.card > div').filter({ hasText: 'second' });
    await row.waitFor();
    expect(await section('Providers').innerText()).not.toContain('sk-a-long-secret-key-of-somebody');
    expect(await readFile(join(at.home, 'onyx.json'), 'utf8')).not.toContain('sk-a-long-secret-key');
    await row.getByRole('button', { name: 'Models' }).click();
    await row.getByRole('list', { name: 'Models' }).getByText('scripted').first().waitFor();
    await row.getByRole('button', { name: 'Remove second' }).click();
    await dialog().getByRole('button', { name: 'Remove' }).click();
    await toast('second was removed');
    await row.waitFor({ state: 'detached' });
    expect(page.wrongs).toEqual([]);
  });

  test('a person is added, signs in with a password and is offered nothing of the owner’s', async () => {
    const id = `mara${viewport.width}`;
    await open('/settings/people');
    await page.getByRole('button', { name: 'Add' }).click();
    await dialog().getByLabel('Id').fill(id);
    await dialog().getByLabel('Password').fill('a good password');
    await dialog().getByRole('button', { name: 'Add' }).click();
    await toast(`${id} was added`);
    const other = await visit(at, '/settings/general', { viewport, token: '' });
    await other.getByLabel('Name').fill(id);
    await other.getByLabel('Password').fill('a good password');
    await other.getByRole('button', { name: 'Sign in' }).click();
    await other.getByRole('heading', { name: 'Appearance' }).waitFor();
    await other.getByRole('link', { name: 'Providers' }).waitFor({ state: 'detached' });
    await other.goto(`${at.url}/settings/you`);
    await other.getByText('member', { exact: true }).waitFor();
    await other.context().close();
    await page.getByRole('button', { name: `Remove ${id}` }).click();
    await dialog().getByRole('button', { name: 'Remove' }).click();
    await toast(`${id} was removed`);
    expect(page.wrongs).toEqual([]);
  });

  test('a token is shown once, works, and is dead after it was revoked', async () => {
    await open('/settings/tokens');
    await page.getByRole('button', { name: 'New token' }).click();
    await dialog().getByLabel('Name').fill('script');
    await dialog().getByRole('button', { name: 'Create token' }).click();
    const token = await section('Tokens').locator('code').innerText();
    const ask = () => fetch(`${at.url}/v1/sessions`, { headers: { authorization: `Bearer ${token}` } });
    expect((await ask()).status).toBe(200);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.reload();
    await page.getByRole('button', { name: 'Revoke script' }).waitFor();
    expect(await section('Tokens').innerText()).not.toContain(token);
    await page.getByRole('button', { name: 'Revoke script' }).click();
    await dialog().getByRole('button', { name: 'Revoke' }).click();
    await toast('script was revoked');
    expect((await ask()).status).toBe(401);
    expect(page.wrongs).toEqual([]);
  });

  test('a program that asks for access is shown with its name, what it wants and the address that opens then', async () => {
    const address = 'http://127.0.0.1:9/callback';
    const registration = { client_name: 'Notebook', redirect_uris: [address] };
    const made = await fetch(`${at.url}/oauth/register`, { method: 'POST', body: JSON.stringify(registration) });
    const { client_id } = (await made.json()) as { client_id: string };
    const query = new URLSearchParams({
      response_type: 'code',
      client_id,
      redirect_uri: address,
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256',
      scope: 'read',
    });
    await open(`/oauth/authorize?${query}`);
    const asked = section('Notebook');
    await asked.getByText('read your files and conversations').waitFor();
    expect(await asked.locator('code').innerText()).toBe(address);
    expect(page.wrongs).toEqual([]);
  });

  test('a device that waits is paired', async () => {
    const begun = await fetch(`${at.url}/api/auth/pair`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Phone', client: 'device' }),
    });
    const { pairing_id: id, code } = (await begun.json()) as { pairing_id: string; code: string };
    await open('/settings/devices');
    await page.getByText(code).waitFor();
    await page.getByRole('button', { name: 'Pair' }).first().click();
    await toast('Paired');
    const state = (await (await fetch(`${at.url}/api/auth/pair/${id}`)).json()) as { status: string };
    expect(state.status).toBe('approved');
    expect(page.wrongs).toEqual([]);
  });

  test('who one is and what agents shall keep to are files with a history; how they run is chosen', async () => {
    const file = join(at.home, 'people/owner/USER.md');
    await writeFile(file, 'Cooks.\n');
    await open('/settings/you');
    // Choosing a subscription that is not connected shows what is missing.
    await page.getByRole('radio', { name: 'Subscription' }).click();
    await page.getByText('There is no subscription gateway.').waitFor();
    await page.getByRole('radio', { name: 'Keys' }).click();
    await page.getByText('There is no subscription gateway.').waitFor({ state: 'detached' });
    await expect
      .poll(async () => ((await (await at.api('/api/agent/config')).json()) as { runtime_mode: string }).runtime_mode)
      .toBe('anthropic_api_key');
    await section('Actions').getByText('No actions yet').waitFor();
    await section('Actions').getByRole('link', { name: 'Open actions' }).waitFor();
    await page.getByRole('link', { name: 'Open About you' }).click();
    await page.getByRole('radio', { name: 'Edit' }).click();
    await page.getByLabel('Text of the file').fill('Hikes.\n');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => readFile(file, 'utf8')).toBe('Hikes.\n');
    await page.getByRole('button', { name: 'History' }).click();
    await page.getByRole('list', { name: 'Versions' }).getByRole('button', { name: 'Restore' }).first().click();
    await toast(/Restored/);
    expect(await readFile(file, 'utf8')).toBe('Cooks.\n');
    await page.goto(`${at.url}/settings/you`);
    await page.getByRole('link', { name: 'Open Standing instructions' }).click();
    await page.getByLabel('Text of the file').waitFor();
    expect(page.wrongs.filter((wrong) => !wrong.includes('404'))).toEqual([]);
  });

  test('budgets are set and shown', async () => {
    await open('/settings/budgets');
    const limit = viewport.width / 1000;
    await page.getByLabel('Per run ($)').fill(String(limit));
    await page.getByRole('button', { name: 'Save' }).click();
    await toast('Limits saved');
    const budgets = (await (await at.api('/api/admin/budgets')).json()) as { limit_per_run: number };
    expect(budgets.limit_per_run).toBe(limit);
    expect(page.wrongs).toEqual([]);
  });

  test('a config that is not good is refused with the place, and the old one stays', async () => {
    await open('/settings/config');
    const editor = page.getByLabel('Text of onyx.json');
    await editor.waitFor();
    const good = await editor.inputValue();
    await editor.fill(
      good.replace('{', '{ // a comment\n').replace(/tier: ?"act"|"tier": ?"act"/, '"tier":"boundless"'),
    );
    await page.getByRole('button', { name: 'Check and save' }).click();
    await page.getByRole('alert').getByText(/tier/).waitFor();
    expect(await readFile(join(at.home, 'onyx.json'), 'utf8')).not.toContain('boundless');
    await editor.fill(good.replace('{', '{ // a comment\n'));
    await page.getByRole('button', { name: 'Check and save' }).click();
    await toast(/Saved/);
    expect(await readFile(join(at.home, 'onyx.json'), 'utf8')).toContain('// a comment');
    expect(page.wrongs.filter((wrong) => !wrong.includes('400') && !wrong.includes('422'))).toEqual([]);
  });

  test('an agent is made, described, turned off and on, and deleted', async () => {
    await open('/agents');
    await page.getByRole('button', { name: 'New agent' }).click();
    await dialog().getByLabel('Name').fill('Optimist');
    const id = `optimist${viewport.width}`;
    await dialog().getByLabel('Id').fill(id);
    await dialog().getByLabel('Model').fill('mine/some-model');
    await dialog().getByRole('button', { name: 'Create' }).click();
    await page.waitForURL(`**/agents/${id}/persona`);
    await page.getByLabel('Text of the system prompt').fill('You look for what could go right.\n');
    await page.getByRole('button', { name: 'Save' }).click();
    await toast('Saved');
    expect(await readFile(join(at.home, `agents/${id}/SOUL.md`), 'utf8')).toBe('You look for what could go right.\n');
    await page.goto(`${at.url}/agents/${id}/overview`);
    await page.getByRole('radio', { name: 'Reads' }).click();
    await toast(/reads/);
    await page.getByRole('switch', { name: 'Enabled', checked: true }).click();
    await toast(/is off/);
    await page.getByRole('switch', { name: 'Enabled', checked: false }).click();
    await toast(/is on/);
    await page.goto(`${at.url}/agents/${id}/tools`);
    await page.getByLabel('Denied').fill('group:fs');
    await page.getByRole('button', { name: 'Save' }).click();
    await toast('Saved');
    await page.goto(`${at.url}/agents/${id}/overview`);
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL(/\/agents$/);
    expect(await readFile(join(at.home, 'onyx.json'), 'utf8')).not.toContain(id);
    expect(page.wrongs.filter((wrong) => !wrong.includes('404'))).toEqual([]);
  });

  test('saving the Tools tab of an agent keeps the commands that it runs without approval', async () => {
    const id = `runner${viewport.width}`;
    const tools = { allow: ['exec'], deny: [], commands: [['git', 'status']] };
    const made = await at.api('/v1/agents', { method: 'POST', body: JSON.stringify({ id, tools }) });
    expect(made.status).toBe(201);
    await open(`/agents/${id}/tools`);
    await page.getByLabel('Denied').fill('group:fs');
    await page.getByRole('button', { name: 'Save' }).click();
    await toast('Saved');
    const { settings } = (await (await at.api(`/v1/agents/${id}`)).json()) as { settings: { tools: object } };
    expect(settings.tools).toEqual({ ...tools, deny: ['group:fs'] });
    await at.api(`/v1/agents/${id}`, { method: 'DELETE' });
    expect(page.wrongs).toEqual([]);
  });

  test('memory is searched, opened at the line, changed, and brought back', async () => {
    await writeFile(join(at.home, NOTE), NOTES);
    // The index has the file after a moment.
    const found = async () => {
      const answer = await at.api('/v1/memory/search?q=zirbelholz');
      return ((await answer.json()) as { results: object[] }).results.length;
    };
    await expect.poll(found).toBeGreaterThan(0);
    await open('/memory');
    await page.getByLabel('Search memory').fill('zirbelholz');
    await page.getByRole('list', { name: 'Results' }).getByText('zirbelholz').first().click();
    await page.waitForURL(/path=.*line=/);
    const text = page.getByLabel('Text of the file');
    await text.waitFor();
    expect(await text.evaluate((area) => area.scrollTop)).toBeGreaterThan(0);
    await text.fill(NOTES.replace('zirbelholz', 'larch'));
    await page.getByRole('button', { name: 'Save' }).click();
    await toast('Saved');
    expect(await readFile(join(at.home, NOTE), 'utf8')).toContain('larch');
    await page.getByRole('button', { name: 'History' }).click();
    const versions = page.getByRole('list', { name: 'Versions' });
    await versions.getByRole('button', { name: 'Compare' }).first().click();
    await versions.getByText('+The zirbelholz lies in the shed.').waitFor();
    await versions.getByRole('button', { name: 'Restore' }).first().click();
    await toast(/Restored/);
    expect(await readFile(join(at.home, NOTE), 'utf8')).toBe(NOTES);
    expect(page.wrongs).toEqual([]);
  });

  test('a file that somebody else changed meanwhile is not overwritten', async () => {
    await writeFile(join(at.home, NOTE), NOTES);
    await open('/memory?path=vault%2Fnotes%2Fcabin.md&line=1');
    const text = page.getByLabel('Text of the file');
    await text.fill('mine\n');
    await writeFile(join(at.home, NOTE), 'theirs\n');
    await page.getByRole('button', { name: 'Save' }).click();
    await page
      .getByRole('alert')
      .getByText(/This file was changed since/)
      .waitFor();
    expect(await readFile(join(at.home, NOTE), 'utf8')).toBe('theirs\n');
    expect(await text.inputValue()).toBe('mine\n');
    await page.getByRole('button', { name: 'Load the new version' }).click();
    await expect.poll(() => text.inputValue()).toBe('theirs\n');
  });

  test('logs are live, searched, paused and exported; usage and audit are shown', async () => {
    await at.api('/api/agent/chat', { method: 'POST', body: JSON.stringify({ message: 'hi' }) });
    await open('/system/logs');
    const log = page.getByRole('list', { name: 'Log' });
    await log.locator('li').first().waitFor();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ]);
    const lines = (await readFile(await file.path(), 'utf8')).trim().split('\n');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: expect.any(String), message: expect.any(String) });
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByLabel('Search the log').fill('no line says this');
    await page.getByText(/Nothing was logged/).waitFor();
    await page.goto(`${at.url}/system/usage`);
    await page.getByRole('radio', { name: 'Tokens' }).click();
    await page.getByRole('img', { name: 'Tokens by day' }).waitFor();
    await section('By agent').getByText('main').waitFor();
    await page.goto(`${at.url}/system`);
    await page.getByRole('listitem').filter({ hasText: 'Provider mine' }).waitFor();
    await page.goto(`${at.url}/system/audit`);
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByText(/rows are unchanged/).waitFor();
    expect(page.wrongs).toEqual([]);
  });
});
