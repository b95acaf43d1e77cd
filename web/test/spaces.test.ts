import { describe, expect, test } from 'vitest';
import type { CompanionMessage, Entity } from '@onyx/sdk';
import { beside, columnsOf, newer, statusOf } from '../src/pages/spaces/board';
import { captureOf, nameOf } from '../src/pages/spaces/capture';
import {
  discarded,
  failed,
  isConflict,
  opened,
  overTheirs,
  reread,
  saved,
  saving,
  shownText,
  unsavedOf,
  wrote,
  type Editing,
} from '../src/pages/spaces/editing';
import { modeOf, NARROWEST, USUAL, WIDEST, widthByKey, widthWithin } from '../src/rail/layout';
import { keptOf, unanswered } from '../src/store/companion-words';

const entity = (change: Partial<Entity> = {}): Entity => ({
  id: 'floor',
  kind: 'page',
  space: 'home',
  title: 'Floor',
  tags: [],
  updatedAt: '2026-11-15T10:00:00Z',
  origin: 'person',
  fields: {},
  path: 'spaces/home/pages/floor.md',
  version: 'v1',
  body: 'Oak',
  ...change,
});

describe('a text edited in two places', () => {
  const mine = (editing: Editing) => wrote(editing, { body: 'Larch' });

  test('is saved over the version it was begun from, and is nobody’s own afterwards', () => {
    const editing = mine(opened(entity()));
    expect([shownText(editing).body, editing.base, isConflict(editing)]).toEqual(['Larch', 'v1', false]);
    const after = saved(saving(editing), entity({ version: 'v2', body: 'Larch' }), shownText(editing));
    expect([after.mine, after.base, after.saving]).toEqual([undefined, 'v2', false]);
  });

  test('follows what others write as long as nothing is written here', () => {
    const editing = reread(opened(entity()), entity({ version: 'v2', body: 'Ash' }));
    expect([shownText(editing).body, isConflict(editing)]).toEqual(['Ash', false]);
  });

  test('keeps both versions until the person decides', () => {
    const both = reread(mine(opened(entity())), entity({ version: 'v2', body: 'Ash' }));
    expect([isConflict(both), shownText(both).body, both.theirs.body, both.base]).toEqual([true, 'Larch', 'Ash', 'v1']);
    expect([isConflict(overTheirs(both)), overTheirs(both).base, shownText(overTheirs(both)).body]).toEqual([
      false,
      'v2',
      'Larch',
    ]);
    expect([isConflict(discarded(both)), shownText(discarded(both)).body]).toEqual([false, 'Ash']);
  });

  test('is no conflict when both wrote the same, or when only something else than the text changed', () => {
    expect(reread(mine(opened(entity())), entity({ version: 'v2', body: 'Larch' })).mine).toBeUndefined();
    const moved = reread(mine(opened(entity())), entity({ version: 'v2', status: 'done' }));
    expect([isConflict(moved), moved.base, shownText(moved).body]).toEqual([false, 'v2', 'Larch']);
  });

  test('comes back from the browser’s memory as it was left, conflict and all', () => {
    const left = unsavedOf(mine(opened(entity())));
    expect(left).toEqual({ title: 'Floor', body: 'Larch', version: 'v1' });
    expect(isConflict(opened(entity(), left))).toBe(false);
    expect(isConflict(opened(entity({ version: 'v2', body: 'Ash' }), left))).toBe(true);
    expect(unsavedOf(opened(entity({ body: 'Larch' }), left))).toBeUndefined();
  });

  test('keeps what was written while the save was under way, and what a save lost', () => {
    const during = wrote(saving(mine(opened(entity()))), { body: 'Larch and ash' });
    const after = saved(during, entity({ version: 'v2', body: 'Larch' }), { title: 'Floor', body: 'Larch' });
    expect([shownText(after).body, after.base, isConflict(after)]).toEqual(['Larch and ash', 'v2', false]);
    // The server may add a line end to the text; it counts as saved all the same.
    const ended = saved(saving(mine(opened(entity()))), entity({ version: 'v2', body: 'Larch\n' }), {
      title: 'Floor',
      body: 'Larch',
    });
    expect(ended.mine).toBeUndefined();
    const lost = failed(saving(mine(opened(entity()))), { code: 'offline', message: 'no', hint: '' });
    expect([shownText(lost).body, lost.saving, lost.fault?.code]).toEqual(['Larch', false, 'offline']);
  });
});

describe('the board', () => {
  const tasks = [
    entity({ id: 'a', status: 'doing' }),
    entity({ id: 'b', status: 'Waiting' }),
    entity({ id: 'c' }),
    entity({ id: 'd', status: 'done' }),
  ];
  const shape = (moved?: Record<string, string>) =>
    columnsOf(tasks, moved).map(({ name, tasks: inside }) => [name, inside.map((task) => task.id).join('')]);

  test('has a column for every status there is, before what is done', () => {
    expect(shape()).toEqual([
      ['To do', 'c'],
      ['Doing', 'a'],
      ['Waiting', 'b'],
      ['Done', 'd'],
    ]);
    expect(statusOf({ status: ' ' })).toBe('todo');
  });

  test('shows a card where it was just put', () => {
    expect(shape({ b: 'done' })).toEqual([
      ['To do', 'c'],
      ['Doing', 'a'],
      ['Done', 'bd'],
    ]);
  });

  test('believes the later of what was listed and what was changed', () => {
    const [early, late] = [
      entity({ updatedAt: '2026-11-15T10:00:00Z' }),
      entity({ updatedAt: '2026-11-15T10:00:00.002Z' }),
    ];
    expect([newer(early, late), newer(late, early), newer(early, undefined)]).toEqual([late, late, early]);
  });

  test('ends at its first and last column', () => {
    const columns = columnsOf(tasks);
    expect([
      beside(columns, 'todo', -1),
      beside(columns, 'doing', 1),
      beside(columns, 'done', 1),
      beside(columns, 'none', 1),
    ]).toEqual([undefined, 'waiting', undefined, undefined]);
  });
});

test('an address by itself is fetched, everything else is words', () => {
  expect(captureOf(' https://a.example/x ')).toEqual({ url: 'https://a.example/x' });
  expect(captureOf('see https://a.example')).toEqual({ text: 'see https://a.example' });
  expect(captureOf('javascript:alert(1)')).toEqual({ text: 'javascript:alert(1)' });
  expect(captureOf(' \n')).toBeUndefined();
  expect([
    nameOf({ url: 'https://a.example' }),
    nameOf({ data: '', name: 'a.pdf' }),
    nameOf({ text: 'words' }),
  ]).toEqual(['https://a.example', 'a.pdf', '“words”']);
});

describe('the rail', () => {
  test('stands beside the page, over it or in its place, as the screen has room', () => {
    expect([1280, 1279, 768, 767].map(modeOf)).toEqual(['beside', 'over', 'over', 'sheet']);
  });

  test('is never narrower or wider than it may be', () => {
    expect([100, 333.4, 900, NaN, 'x', undefined].map(widthWithin)).toEqual([
      NARROWEST,
      333,
      WIDEST,
      USUAL,
      USUAL,
      USUAL,
    ]);
  });

  test('moves by arrows, and back to its usual width', () => {
    expect(['ArrowLeft', 'ArrowRight', 'Home', 'End', 'Enter', 'a'].map((key) => widthByKey(key, 400))).toEqual([
      416,
      384,
      NARROWEST,
      WIDEST,
      USUAL,
      undefined,
    ]);
    expect(widthByKey('ArrowRight', NARROWEST)).toBe(NARROWEST);
  });
});

describe('words to the companion', () => {
  const message = (id: string, role: 'user' | 'assistant', content: string) =>
    ({ id, role, content }) as CompanionMessage;
  const talk = [
    message('01', 'user', 'hi'),
    message('02', 'assistant', 'Hello.'),
    message('03', 'user', 'hi'),
    message('04', 'user', 'and?'),
  ];

  test('that the server has already are not said twice', () => {
    expect(keptOf(talk, { content: 'hi', companion: { seen: '02' } })).toEqual({ id: '03', isAnswered: false });
    expect(keptOf(talk, { content: 'hi', companion: {} })).toEqual({ id: '01', isAnswered: true });
    expect(keptOf(talk, { content: 'hi', companion: { seen: '03' } })).toBeUndefined();
    expect(keptOf(talk, { turnId: '04', content: 'masked', companion: { seen: '09' } })).toEqual({
      id: '04',
      isAnswered: false,
    });
  });

  test('that nobody has answered stand at the end, unless they are known', () => {
    expect(unanswered(talk, new Set(['03'])).map(({ id }) => id)).toEqual(['04']);
    expect(unanswered(talk.slice(0, 2), new Set())).toEqual([]);
  });
});
