import type { Job } from '@onyx/sdk';
import { hueOf } from '../../ui/hue';
import { weekOf, type Day } from './week';

const MINUTES = 1440;
/** How many firings of a day are named; further ones are only counted. */
const MOST_NAMED = 4;

// Times are shown without AM and PM, because a day's column on a phone has no room for them.
const clock = (time: string) =>
  new Date(time).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

/** The next seven days: a column for each day and a mark for each firing. */
export function WeekStrip({ jobs }: { jobs: Job[] }) {
  const days = weekOf(jobs, new Date());
  return (
    <div className="card overflow-x-auto" role="group" aria-label="The next seven days" tabIndex={0}>
      <ol className="grid min-w-[560px] grid-cols-7 divide-x divide-line">
        {days.map((day) => (
          <li key={day.date} className="flex min-w-0 flex-col gap-1.5 p-2">
            <span className="text-tiny text-dim">{day.label}</span>
            <Column day={day} />
            <Named day={day} />
          </li>
        ))}
      </ol>
    </div>
  );
}

/** One day as a line from midnight to midnight. */
function Column({ day }: { day: Day }) {
  return (
    <svg viewBox="0 0 1440 96" preserveAspectRatio="none" className="h-6 w-full rounded-sm bg-sunken" aria-hidden>
      {day.firings.map((firing) => (
        <rect
          key={`${firing.job} ${firing.time}`}
          x={Math.min(firing.minute, MINUTES - 30)}
          y={8}
          width={30}
          height={80}
          rx={10}
          fill={hueOf(firing.job)}
        />
      ))}
    </svg>
  );
}

function Named({ day }: { day: Day }) {
  const more = day.firings.length - MOST_NAMED;
  if (day.firings.length === 0) return <span className="text-tiny text-dim">–</span>;
  return (
    <ul className="flex flex-col gap-0.5 text-tiny">
      {day.firings.slice(0, MOST_NAMED).map((firing) => (
        <li key={`${firing.job} ${firing.time}`} className="truncate" title={`${clock(firing.time)} ${firing.job}`}>
          <span className="text-dim tabular-nums">{clock(firing.time)}</span> {firing.job}
        </li>
      ))}
      {more > 0 && <li className="text-dim">{more} more</li>}
    </ul>
  );
}
