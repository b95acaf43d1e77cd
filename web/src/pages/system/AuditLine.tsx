import { Link } from '@tanstack/react-router';
import { authorOf, type AuditRow } from '@onyx/sdk';
import { fullTime } from '../../ui/time';

const COLORS: Record<string, string> = {
  allow: 'text-ok-text',
  approved: 'text-ok-text',
  deny: 'text-danger',
  denied: 'text-danger',
  rejected: 'text-danger',
  draft: 'text-warn',
  confirm: 'text-warn',
};

/** One decision. The title of its summary holds the hashes whole. */
export function AuditLine({ row }: { row: AuditRow }) {
  const who = authorOf(row.actor).id;
  return (
    <li className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 px-4 py-2 text-meta">
      <time className="shrink-0 whitespace-nowrap text-dim tabular-nums md:w-44" dateTime={row.ts}>
        {fullTime(row.ts)}
      </time>
      <span className="max-w-32 shrink-0 truncate md:w-24" title={who}>
        {who}
      </span>
      <span className={`shrink-0 md:w-20 ${COLORS[row.decision ?? ''] ?? 'text-dim'}`}>
        {row.decision ?? row.effect}
      </span>
      <span className="min-w-40 flex-1 [overflow-wrap:anywhere] max-md:order-last max-md:basis-full">
        {row.tool && <code className="mr-2 font-mono">{row.tool}</code>}
        <span title={row.diffSummary}>{row.shortSummary}</span>
        {row.result && <span className="text-dim"> · {row.result}</span>}
      </span>
      {row.sessionId && (
        <Link
          to="/chat/$id"
          params={{ id: row.sessionId }}
          className="text-accent underline underline-offset-3 max-md:ml-auto"
        >
          chat
        </Link>
      )}
    </li>
  );
}
