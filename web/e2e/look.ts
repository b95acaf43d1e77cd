// Pictures for people: `npx vite-node e2e/look.ts <folder>`.
import { closeBrowser, PHONE, stage, visit, WIDE } from './stage';

import { createServer } from 'vite';

const folder = process.argv[2] ?? '/tmp/shots';
const rich = [
  'Two things. The pass closes at **noon on Saturday** for avalanche control, so leaving after lunch would mean the long way round. See [the road report](https://roads.example.org/pass) for details.\n\n',
  '## What changes\n\n- Drive up at 9:30\n- Keys: at *Lena’s*, she is home until 10\n  - ring twice\n- [x] wood is ordered\n- [ ] sauna booked\n\n',
  '| Route | Time | Risk |\n|---|---:|---|\n| Over the pass | 1 h 50 | closes at noon |\n| Round the lake | 3 h 10 | none |\n\n',
  '```rust\nfn leave(at: Time) -> Result<Route, Late> {\n    // the pass closes at noon\n    if at < NOON { Ok(Route::Pass) } else { Err(Late(at)) }\n}\n```\n\n',
  'The cost is $5 or so. Fuel: $$E = \\frac{1}{2} m v^2 + \\int_0^d F(x)\\,dx$$\n\nInline $a^2 + b^2 = c^2$ works too.\n\n',
  '```mermaid\nflowchart LR\n  A[Home] --> B{Before noon?}\n  B -->|yes| C[Pass]\n  B -->|no| D[Lake road]\n```\n\n> Take chains either way.\n',
];
const read = (id: string, name: string, input: object) => ({ calls: [{ id, name, input }] });
const at = await stage(
  [
    { text: 'I will look at your notes first.', ...read('a', 'read_file', { path: 'notes/cabin.md' }) },
    { calls: [{ id: 'b', name: 'list_files', input: { path: 'notes' } }, { id: 'c', name: 'edit_file', input: { path: 'notes/cabin.md', old_text: 'after lunch', new_text: 'at 9:30' } }] },
    { text: rich },
    { text: 'Shall I also ask Lena whether the wood is dry?' },
  ],
  { files: { 'people/owner/vault/notes/cabin.md': '## Saturday\n\n- Drive up after lunch\n- Sauna, then dinner\n' } },
);
// With ONYX_LOOK=dev the pages come from Vite, so that no binary need be built to look at them.
if (process.env['ONYX_LOOK'] === 'dev') {
  process.env['ONYX_DEV_SERVER'] = at.url;
  const vite = await createServer({ server: { port: 5199 } });
  await vite.listen();
  at.url = 'http://localhost:5199';
}
for (const [name, viewport] of [['wide', WIDE], ['phone', PHONE]] as const) {
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await visit(at, '/chat', { viewport, colorScheme });
    const shot = (what: string) => page.screenshot({ path: `${folder}/${name}-${colorScheme}-${what}.png` });
    await page.waitForSelector('#composer');
    await page.waitForTimeout(400);
    await shot('new');
    if (name === 'wide' && colorScheme === 'light') {
      await page.fill('#composer', 'We drive up on Saturday. Anything in my notes that should change the plan?');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Answer again' }).waitFor();
      await page.waitForTimeout(1500);
    } else {
      await page.goto(`${at.url}/sessions`);
      await page.waitForTimeout(500);
      await shot('sessions');
      await page.locator('main li a').first().click();
      await page.waitForTimeout(1500);
    }
    await shot('chat');
    await page.locator('[role=log]').evaluate((log) => (log.scrollTop = 0));
    await page.waitForTimeout(600);
    await shot('chat-top');
    for (const path of ['settings', 'system', 'inbox']) {
      await page.goto(`${at.url}/${path}`);
      await page.waitForTimeout(500);
      await shot(path);
    }
    await page.keyboard.press('Control+k');
    await page.waitForTimeout(300);
    await shot('palette');
    console.log(name, colorScheme, page.wrongs);
    await page.context().close();
  }
}
await closeBrowser();
await at.end();
