// The next seven days as columns: which jobs fire on which day, and when.

import type { Job } from '@onyx/sdk';

export interface Firing {
  job: string;
  time: string;
  /** Minutes since midnight, for its place in the column. */
  minute: number;
}

export interface Day {
  /** `YYYY-MM-DD` in the browser's time zone. */
  date: string;
  label: string;
  firings: Firing[];
}

const DAY = 86_400_000;

const dateOf = (at: Date) =>
  `${at.getFullYear()}-${String(at.getMonth() + 1).padStart(2, '0')}-${String(at.getDate()).padStart(2, '0')}`;

export function weekOf(jobs: Job[], now: Date): Day[] {
  const days = Array.from({ length: 7 }, (_, offset): Day => {
    // Noon, so that a day of 23 or 25 hours does not shift the date.
    const noon = new Date(now.getFullYear(), now.getMonth(), now.getDate(), 12);
    const at = new Date(noon.getTime() + offset * DAY);
    const label = offset === 0 ? 'Today' : at.toLocaleDateString(undefined, { weekday: 'short', day: 'numeric' });
    return { date: dateOf(at), label, firings: [] };
  });
  const byDate = new Map(days.map((day) => [day.date, day]));
  for (const job of jobs.filter((one) => one.state === 'active')) {
    for (const time of job.week) {
      const at = new Date(time);
      byDate.get(dateOf(at))?.firings.push({ job: job.id, time, minute: at.getHours() * 60 + at.getMinutes() });
    }
  }
  for (const day of days) day.firings.sort((a, b) => a.time.localeCompare(b.time));
  return days;
}
