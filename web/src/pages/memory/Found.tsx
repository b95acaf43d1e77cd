import { useState } from 'react';
import type { MemoryHit } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { useStore } from '../../store/state';
import { Select } from '../../ui/form';
import { Empty, Shown } from '../../ui/page';
import { ago, dayOf } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';
import { PassageLink } from './PassageLink';
import { passageOfHit } from './passages';

const MATCHES: Record<string, string> = { fts: 'by words', vec: 'by meaning', hybrid: 'by words and meaning' };

/** The best hits of a search, each with a link to its file and line. */
export function Found({ q }: { q: string }) {
  const agents = useStore((state) => state.status?.agents);
  const [agent, setAgent] = useState('');
  const answer = useLoaded(`found ${agent} ${q}`, () =>
    onyx.memory.search({ q, agent: agent || undefined, limit: 30 }),
  );
  return (
    <>
      {agents && agents.length > 1 && (
        <div className="mb-3 flex justify-end">
          <Select
            label="Memory of"
            value={agent}
            onChange={setAgent}
            options={[['', 'Everything'], ...agents.map((one): [string, string] => [one.id, one.name])]}
          />
        </div>
      )}
      <Shown of={answer} rows={5} height="h-24">
        {({ results, degraded, reason, partial }) => (
          <>
            {(degraded || partial) && (
              <p role="status" className="mb-3 rounded-md bg-warn-soft px-3 py-2 text-meta text-warn">
                {[
                  degraded && `Searched by words only. ${reason ?? ''}`,
                  partial && 'Still indexing. More results may appear later.',
                ]
                  .filter(Boolean)
                  .join(' ')}
              </p>
            )}
            {results.length === 0 && (
              <Empty>{partial ? 'No results in the files indexed so far.' : 'No results.'}</Empty>
            )}
            <ol className="flex flex-col gap-2" aria-label="Results">
              {results.map((hit) => (
                <li key={`${hit.path}:${hit.startLine}`}>
                  <Hit hit={hit} />
                </li>
              ))}
            </ol>
          </>
        )}
      </Shown>
    </>
  );
}

function Hit({ hit }: { hit: MemoryHit }) {
  const isFile = !hit.session;
  const said = [hit.author, hit.time && dayOf(hit.time)].filter(Boolean).join(', ');
  return (
    <PassageLink to={passageOfHit(hit)} className="card block px-4 py-3 hover:border-dim/60">
      <span className="flex flex-wrap items-baseline gap-x-3">
        <span className="min-w-0 truncate font-semibold">
          {[hit.title || hit.path, hit.heading].filter(Boolean).join(' › ')}
        </span>
        <span className={`meta min-w-0 truncate ${isFile ? 'font-mono' : ''}`} dir="auto">
          {isFile ? `${hit.path}:${hit.startLine}–${hit.endLine}` : said}
        </span>
      </span>
      <span
        className="mt-1 line-clamp-3 text-[14px] leading-5 whitespace-pre-wrap text-dim [overflow-wrap:anywhere]"
        dir="auto"
      >
        {hit.snippet.map((part, index) =>
          part.hit ? (
            <mark key={index} className="found">
              {part.text}
            </mark>
          ) : (
            part.text
          ),
        )}
      </span>
      <span className="mt-1.5 block text-tiny text-dim">
        {[hit.source, MATCHES[hit.matchType] ?? hit.matchType, ago(hit.time ?? hit.modified)].join(' · ')}
      </span>
    </PassageLink>
  );
}
