import { describe, expect, test } from 'vitest';
import { brokenAnywhere } from './axe';
import { tellCompanion } from './house';
import { clearsAfterEach, composer, log, open, share, TWO_AGENTS, WIDTHS } from './play';
import type { Stage } from './stage';

clearsAfterEach();

/** Sends a message to the agent that edits a persona. */
async function tellEditor(at: Stage, personaId: string, message: string): Promise<void> {
  await (
    await at.api('/api/persona-agent/chat', { method: 'POST', body: JSON.stringify({ personaId, message }) })
  ).text();
}

describe.each(WIDTHS)('at %s px', (width, viewport) => {
  test('conversations of a space and of an editor stand among all chats and open where they live', async () => {
    const den = `den-${width}`;
    const files = {
      [`people/owner/spaces/${den}/space.json`]: JSON.stringify({ name: `Den ${width}` }),
      [`people/owner/spaces/${den}/pages/floor.md`]: '# Floor\n',
      'agents/optimist/SOUL.md': 'You look for what could go right.\n',
    };
    const at = await share([{ text: 'Larch is softer.' }, { text: 'The tone stays.' }], {
      agents: TWO_AGENTS,
      defaults: { model: 'mine/some-model' },
      files,
    });
    await tellCompanion(at, 'Oak or larch?', den);
    await tellEditor(at, 'optimist', `Keep the tone ${width}`);
    const page = await open(at, '/sessions', { viewport });
    const row = (words: string) => page.locator('main li').filter({ hasText: words });
    await row(`Den ${width}`).getByText('companion', { exact: true }).waitFor();
    await row(`Keep the tone ${width}`).getByText('editor of Optimist').waitFor();
    await row(`Den ${width}`).getByRole('link').click();
    await page.waitForURL(`**/spaces/${den}#companion`);
    await page.getByLabel('Companion', { exact: true }).getByText('Larch is softer.').waitFor();
    await page.goto(`${at.url}/sessions`);
    await row(`Keep the tone ${width}`).getByRole('link').click();
    await page.waitForURL('**/agents/optimist/persona#output');
    const panel = page.getByRole('region', { name: 'The editor’s output' });
    await panel.getByText('The tone stays.').waitFor();
    expect(await panel.getAttribute('data-phase')).toBe('pinned');
    // A cleared conversation can still be read, and the editor continues in its own place.
    await panel.getByRole('button', { name: 'Clear conversation' }).click();
    await panel.waitFor({ state: 'detached' });
    await page.goto(`${at.url}/sessions`);
    await page.getByLabel('Status').selectOption('archived');
    const away = row(`Keep the tone ${width}`);
    await away.waitFor();
    expect(await away.getByRole('button').count()).toBe(0);
    await away.getByRole('link').click();
    await log(page).getByText('The tone stays.').waitFor();
    await page.getByText('An archived conversation with the editor of Optimist.').waitFor();
    expect(await composer(page).count()).toBe(0);
    if (width === '1280') expect(await brokenAnywhere(page, 'archived')).toEqual([]);
    await page.getByRole('link', { name: 'Open the editor' }).click();
    await page.waitForURL('**/agents/optimist/persona');
    await composer(page).waitFor();
    expect(page.wrongs).toEqual([]);
  });
});
