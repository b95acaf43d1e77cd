import { useState } from 'react';
import { Link } from '@tanstack/react-router';
import { ShieldCheck } from 'lucide-react';
import { authorOf, type AuditRow } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { Empty, Shown } from '../../ui/page';
import { fullTime } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';

const PAGE = 100;
const COLORS: Record<string, string> = {
  allow: 'text-ok-text',
  approved: 'text-ok-text',
  deny: 'text-danger',
  denied: 'text-danger',
  rejected: 'text-danger',
  draft: 'text-warn',
  confirm: 'text-warn',
};

/** The audit log: every decision with its author, and a check of the chain. */
export default function Audit() {
  const first = useLoaded('audit', () => onyx.admin.audit({ limit: PAGE }));
  const [older, setOlder] = useState<{ rows: AuditRow[]; before?: number }>();
  const [verified, setVerified] = useState<{ ok: boolean; text: string }>();
  const verify = async () => {
    const chains = await attempt('The audit could not be verified', () => onyx.admin.verifyAudit());
    if (!chains) return;
    const broken = chains.find((chain) => !chain.whole);
    const rows = chains.reduce((sum, chain) => sum + (chain.rows ?? 0), 0);
    setVerified(
      broken
        ? { ok: false, text: `The chain of ${broken.person} is broken at row ${broken.brokenAt}.` }
        : { ok: true, text: `All ${rows} rows are unchanged.` },
    );
  };
  const more = async (before: number) => {
    const page = await attempt('Older rows could not be loaded', () => onyx.admin.audit({ limit: PAGE, before }));
    if (page) setOlder({ rows: [...(older?.rows ?? []), ...page.rows], before: page.before });
  };
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-3">
        <p className="meta min-w-0 flex-1">
          Each row carries the hash of the one before it, so no change goes unnoticed.
        </p>
        {verified && (
          <span role="status" className={`text-meta ${verified.ok ? 'text-ok-text' : 'text-danger'}`}>
            {verified.text}
          </span>
        )}
        <button type="button" className="btn" onClick={() => void verify()}>
          <ShieldCheck size={15} aria-hidden /> Verify
        </button>
      </div>
      <Shown of={first} rows={6}>
        {(page) => {
          const rows = [...page.rows, ...(older?.rows ?? [])];
          const before = older ? older.before : page.before;
          if (rows.length === 0) return <Empty>No decisions yet.</Empty>;
          return (
            <>
              <ul className="card divide-y divide-line" aria-label="Audit">
                {rows.map((row) => (
                  <Row key={`${row.person} ${row.seq}`} row={row} />
                ))}
              </ul>
              {before !== undefined && before !== null && (
                <div className="mt-3 text-center">
                  <button type="button" className="btn" onClick={() => void more(before)}>
                    Show older
                  </button>
                </div>
              )}
            </>
          );
        }}
      </Shown>
    </>
  );
}

/** The first characters of a hash; the title holds all of it. */
const shortened = (text: string) => text.replace(/\b([0-9a-f]{12})[0-9a-f]{52}\b/g, '$1…');

function Row({ row }: { row: AuditRow }) {
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
        <span title={row.diffSummary}>{shortened(row.diffSummary)}</span>
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
