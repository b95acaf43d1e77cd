import { useState } from 'react';
import { ShieldCheck } from 'lucide-react';
import type { AuditRow } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { Empty, Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { AuditLine } from './AuditLine';

const PAGE = 100;

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
    if (page) setOlder({ rows: [...(older?.rows ?? []), ...page.rows], before: page.before ?? undefined });
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
                  <AuditLine key={`${row.person} ${row.seq}`} row={row} />
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
