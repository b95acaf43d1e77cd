// `make screenshots`: pictures of a few important pages for docs. With `--all`: every page in five states, two widths
// and both themes, in the target folder. With further words: only the pages that they name.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { authorization } from './authorization';
import { furnished, type Furnished } from './furnished';
import { drawn, go, settled } from './going';
import { ollama } from './ollama';
import { PLACES, type Place } from './places';
import { closeBrowser, PHONE, stage, visit, WIDE, type Visit } from './stage';
import { Sky } from './weather';

const all = process.argv.includes('--all');
const folder = fileURLToPath(new URL(all ? '../../target/screenshots' : '../../docs/screenshots', import.meta.url));
const only = process.argv.slice(2).filter((word) => word !== '--all');
/** The pages that a newcomer looks at first. */
const TELLING = ['chat', 'inbox', 'space', 'tasks', 'thread', 'agent', 'health'];
const QUALITY = 62;
/** Skeletons appear after a moment. */
const SKELETON_MS = 400;

type State = 'loading' | 'empty' | 'error' | 'long' | 'offline';

/** Takes pictures at both widths and in both themes, without loading the page again. */
async function shoot(page: Visit, place: Pick<Place, 'name'>, state: State): Promise<void> {
  const session = await page.context().newCDPSession(page);
  for (const viewport of [WIDE, PHONE]) {
    await page.setViewportSize(viewport);
    for (const theme of ['light', 'dark'] as const) {
      // Of the few pages, the wide one in the light theme and the narrow one in the dark theme are enough.
      if (!all && (viewport === WIDE) !== (theme === 'light')) continue;
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
      await page.locator(`html[data-theme=${theme}]`).waitFor();
      await drawn(page);
      const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
      await writeFile(
        join(folder, `${place.name}-${state}-${viewport.width}-${theme}.webp`),
        Buffer.from(data, 'base64'),
      );
    }
  }
  await page.setViewportSize(WIDE);
  await session.detach();
}

/** Waits for formulas and highlighting, and scrolls to the beginning, which shows what the chat is about. */
async function fromTheTop(page: Visit): Promise<void> {
  await page.locator('math').first().waitFor();
  await page.locator('.code code span').first().waitFor();
  await page.locator('[role=log]').evaluate((log) => (log.scrollTop = 0));
  await drawn(page);
}

async function states(page: Visit, sky: Sky, home: Furnished, place: Place): Promise<void> {
  const address = home.at.url + place.path(home);
  if (all) {
    await sky.change('loading');
    await page.goto(address);
    await page.waitForTimeout(SKELETON_MS);
    await shoot(page, place, 'loading');
    await sky.change('error');
    await page.locator('main').getByRole('alert').first().waitFor();
    await shoot(page, place, 'error');
  }
  await sky.change('live');
  await page.goto(address);
  await settled(page);
  if (place.name === 'chat') await fromTheTop(page);
  if (place.name === 'space') await page.getByRole('textbox', { name: 'Text', exact: true }).waitFor();
  await shoot(page, place, 'long');
  if (!all) return;
  await sky.change('offline');
  await page.getByText('No connection to Onyx').waitFor();
  await shoot(page, place, 'offline');
}

/** Pictures of a new home: what it offers, and a code that waits to be entered. */
async function firstSteps(): Promise<void> {
  const [maker, here] = await Promise.all([
    authorization(),
    ollama(['llama3:latest', 'qwen3:8b', 'nomic-embed-text'], 'Hello.'),
  ]);
  const at = await stage([], {
    providers: {},
    agents: [{ id: 'main', name: 'Main', default: true, tier: 'act' }],
    ollama: here.port,
  });
  const page = await visit(at, '/chat');
  await page.getByRole('button', { name: 'Use Ollama' }).waitFor();
  await shoot(page, { name: 'first-run' }, 'empty');
  const settings = { kind: 'openai', baseUrl: at.model, login: maker.login };
  await at.api('/api/admin/providers/work', { method: 'PUT', body: JSON.stringify({ settings }) });
  await go(page, '/settings/providers');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Code', { exact: true }).waitFor();
  await shoot(page, { name: 'sign-in' }, 'long');
  await page.context().close();
  await at.end();
  maker.end();
  here.end();
}

const FIRST_STEPS = ['first-run', 'sign-in'];
const wanted = PLACES.filter(({ name }) => (only.length > 0 ? only.includes(name) : all || TELLING.includes(name)));
if (only.length === 0) await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
const [home, fresh] = await Promise.all([furnished(), stage([])]);
const page = await visit(home.at, '/nowhere');
const sky = new Sky(page);
await sky.watch();
const empty = await visit(fresh, '/nowhere');
for (const place of wanted) {
  await states(page, sky, home, place);
  if (all) {
    await go(empty, place.empty ?? place.path(home));
    await shoot(empty, place, 'empty');
  }
  console.error(place.name);
}
if (only.length === 0 || FIRST_STEPS.some((name) => only.includes(name))) await firstSteps();
await closeBrowser();
await home.at.end();
await fresh.end();
