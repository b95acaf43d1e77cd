import { expect, test } from 'vitest';
import type { Job } from '@onyx/sdk';
import { weekOf } from '../src/pages/jobs/week';

const at = (day: number, hour: number, minute = 0) => new Date(2026, 10, day, hour, minute);
const job = (id: string, state: Job['state'], times: Date[]) =>
  ({ id, state, week: times.map((time) => time.toISOString()) }) as Job;

test('a week has seven days from today, each with its firings in order', () => {
  const jobs = [
    job('evening', 'active', [at(16, 19), at(18, 19)]),
    job('morning', 'active', [at(16, 8, 30)]),
    job('off', 'paused', [at(16, 9)]),
    job('later', 'active', [at(25, 9)]),
  ];
  const week = weekOf(jobs, at(16, 7));
  expect(week.map((day) => day.date)).toEqual([
    '2026-11-16',
    '2026-11-17',
    '2026-11-18',
    '2026-11-19',
    '2026-11-20',
    '2026-11-21',
    '2026-11-22',
  ]);
  expect(week[0]?.label).toBe('Today');
  expect(week[0]?.firings.map(({ job: id, minute }) => [id, minute])).toEqual([
    ['morning', 510],
    ['evening', 1140],
  ]);
  expect(week[2]?.firings.map(({ job: id }) => id)).toEqual(['evening']);
  expect(week.flatMap((day) => day.firings)).toHaveLength(3);
});
