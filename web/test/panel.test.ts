import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { HIDDEN, STAYS_MS, step, type Happened, type Hold, type Panel } from '../src/pages/agents/persona/panel';

/** The state machine with a simulated clock. */
class Played {
  panel: Panel = HIDDEN;
  private timer?: ReturnType<typeof setTimeout>;

  tell(...all: (Happened['type'] | Happened)[]): this {
    for (const one of all) {
      this.panel = step(this.panel, typeof one === 'string' ? ({ type: one } as Happened) : one, Date.now());
      clearTimeout(this.timer);
      const { goesAt } = this.panel;
      if (goesAt !== undefined) this.timer = setTimeout(() => this.tell('time'), goesAt - Date.now());
    }
    return this;
  }

  after(milliseconds: number): Panel['phase'] {
    vi.advanceTimersByTime(milliseconds);
    return this.panel.phase;
  }
}

const play = (...all: (Happened['type'] | Happened)[]) => new Played().tell(...all);
const hold = (by: Hold): Happened => ({ type: 'hold', by });
const release = (by: Hold): Happened => ({ type: 'release', by });
const attention = (needed: boolean): Happened => ({ type: 'attention', needed });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('from hidden', () => {
  test('sending shows it', () => expect(play('sent').panel.phase).toBe('visible'));
  test('"Show output" shows it pinned', () => expect(play('show output').panel.phase).toBe('pinned'));
  test.each(['output', 'ended', 'click', 'key p', 'dismiss', 'escape', 'click away', 'clear', 'time'] as const)(
    '%s leaves it hidden',
    (what) => {
      expect(play(what).after(STAYS_MS * 2)).toBe('hidden');
    },
  );
  test('an error or approval leaves it hidden: whoever dismissed it is told by the button', () => {
    expect(play(attention(true)).panel).toMatchObject({ phase: 'hidden', attention: true });
  });
});

describe('while it is visible', () => {
  test('it stays as long as words come, however long that takes', () => {
    const played = play('sent');
    expect(played.after(60_000)).toBe('visible');
    played.tell('output');
    expect(played.after(60_000)).toBe('visible');
  });
  test('it goes five seconds after the end of the output, not sooner', () => {
    const played = play('sent', 'output', 'ended');
    expect(played.after(STAYS_MS - 1)).toBe('visible');
    expect(played.after(1)).toBe('hidden');
  });
  test('new words and a new message give it the whole time again', () => {
    const played = play('sent', 'ended');
    played.after(4_000);
    played.tell('output');
    expect(played.after(10_000)).toBe('visible');
    played.tell('ended');
    played.after(4_000);
    played.tell('sent', 'ended');
    expect(played.after(4_999)).toBe('visible');
    expect(played.after(1)).toBe('hidden');
  });
  test.each(['click', 'key p'] as const)('%s pins it', (what) => {
    expect(play('sent', 'ended', what).after(60_000)).toBe('pinned');
  });
  test.each(['dismiss', 'escape', 'clear'] as const)('%s hides it', (what) =>
    expect(play('sent', what).panel.phase).toBe('hidden'),
  );
  test.each(['click away', 'show output', 'time'] as const)('%s changes nothing', (what) =>
    expect(play('sent', what).panel.phase).toBe('visible'),
  );
  test('what was dismissed does not come back with more words', () => {
    expect(play('sent', 'dismiss', 'output', 'ended').after(1)).toBe('hidden');
  });
});

describe.each(['hover', 'focus', 'selection', 'hidden tab'] as const)('%s', (by) => {
  test('stops the clock where it is, and it goes on from there', () => {
    const played = play('sent', 'ended');
    played.after(2_000);
    played.tell(hold(by));
    expect(played.after(60_000)).toBe('visible');
    played.tell(release(by));
    expect(played.after(2_999)).toBe('visible');
    expect(played.after(1)).toBe('hidden');
  });
  test('before the end keeps the clock from starting', () => {
    const played = play('sent', hold(by), 'ended');
    expect(played.after(60_000)).toBe('visible');
    played.tell(release(by));
    expect(played.after(STAYS_MS)).toBe('hidden');
  });
  test('told twice counts once', () => {
    expect(play('sent', 'ended', hold(by), hold(by), release(by)).after(STAYS_MS)).toBe('hidden');
  });
});

test('the clock waits for the last that holds', () => {
  const played = play('sent', 'ended', hold('hover'), hold('focus'), release('hover'));
  expect(played.after(60_000)).toBe('visible');
  expect(played.tell(release('focus')).after(STAYS_MS)).toBe('hidden');
});

test('a panel that was dismissed under the pointer is not held by it the next time; a hidden tab still is', () => {
  expect(play('sent', hold('hover'), 'dismiss', 'sent', 'ended').after(STAYS_MS)).toBe('hidden');
  expect(play('sent', hold('hidden tab'), 'dismiss', 'sent', 'ended').after(STAYS_MS)).toBe('visible');
});

describe('errors and approvals', () => {
  test('keep it until a person dismisses it', () => {
    const played = play('sent', attention(true), 'ended');
    expect(played.after(3_600_000)).toBe('visible');
    expect(played.tell('escape').panel.phase).toBe('hidden');
  });
  test('that are settled let it go five seconds later', () => {
    const played = play('sent', 'ended', attention(true));
    played.after(60_000);
    played.tell(attention(false));
    expect(played.after(STAYS_MS - 1)).toBe('visible');
    expect(played.after(1)).toBe('hidden');
  });
  test('are over with the next message', () => {
    expect(play('sent', attention(true), 'ended', 'sent', 'ended').after(STAYS_MS)).toBe('hidden');
  });
});

describe('while it is pinned', () => {
  test('it stays, also when more is said', () => {
    expect(play('sent', 'click', 'ended', 'sent', 'output', 'ended').after(3_600_000)).toBe('pinned');
  });
  test.each(['dismiss', 'escape', 'click away', 'clear'] as const)('%s hides it', (what) =>
    expect(play('show output', what).panel.phase).toBe('hidden'),
  );
  test.each(['click', 'key p', 'show output', 'time'] as const)('%s changes nothing', (what) =>
    expect(play('show output', what).panel.phase).toBe('pinned'),
  );
});

test('clearing forgets what was written and what needed somebody', () => {
  expect(play('sent', attention(true), 'clear').panel).toEqual(HIDDEN);
});
