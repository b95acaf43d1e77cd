import { describe, expect, test } from 'vitest';
import { byAge } from '../src/pages/sessions/groups';
import { fit } from '../src/shell/palette/finding';

describe('what is typed', () => {
  test('finds the exact name first, then beginnings, then parts, and nothing by scattered letters', () => {
    const names = ['All spaces', 'Space', 'Spaces', 'A space', 'Workspaces'];
    const found = names.filter((name) => fit(name, 'space') > 0).sort((a, b) => fit(b, 'space') - fit(a, 'space'));
    expect(found).toEqual(['Space', 'Spaces', 'All spaces', 'A space', 'Workspaces']);
    expect(fit('Settings', 'sgs')).toBe(0);
    expect(fit('Home renovation', 'reno home')).toBeGreaterThan(0);
  });
});

describe('chats by age', () => {
  const now = new Date(2026, 10, 16, 12);
  const at = (days: number, pinned = false) => ({
    updatedAt: new Date(2026, 10, 16 - days, 9).toISOString(),
    pinned,
  });

  test('stand under the day that people would say, pinned ones first', () => {
    const groups = byAge([at(0), at(1), at(5), at(20), at(200), at(200, true)], now);
    expect(groups.map(([name, members]) => [name, members.length])).toEqual([
      ['Pinned', 1],
      ['Today', 1],
      ['Yesterday', 1],
      ['Last 7 days', 1],
      ['Last 30 days', 1],
      ['Older', 1],
    ]);
    expect(byAge([], now)).toEqual([]);
  });
});
