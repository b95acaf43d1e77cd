import { useState } from 'react';
import { Link } from '@tanstack/react-router';
import { FileText, X } from 'lucide-react';
import type { Channel, Thread, ThreadContext } from '@onyx/sdk';
import { placeOf } from '../../markdown/citations';
import { onyx } from '../../store/client';
import { useStore } from '../../store/state';
import { ErrorLine, Skeletons } from '../../ui/page';
import { tokens } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';
import { useSettled } from '../../ui/useSettled';
import { compared, foreseen, givenOf, SCOPES, spent, wasGiven, type Row, type ScopeName } from './retrieved';
import { Sources } from './Sources';

export interface Asked {
  /** The message it was retrieved for; none for text that was not sent. */
  turnId?: string;
  words: string;
}

const TYPING_MS = 250;

/** The passages that retrieval supplied, or would supply, to a message, by scope, with those that had no room. */
export function RetrievedPanel({
  thread,
  channel,
  asked,
  close,
}: {
  thread: Thread;
  channel?: Channel;
  asked: Asked;
  close: () => void;
}) {
  const [view, setView] = useState<'retrieved' | 'knowledge'>('retrieved');
  return (
    <aside
      aria-label="What was retrieved"
      className="rise absolute inset-y-0 right-0 z-20 flex w-full flex-col border-l border-line bg-bg max-xl:shadow-over sm:w-90 xl:static xl:shrink-0"
      onKeyDown={(event) => event.key === 'Escape' && close()}
    >
      <div className="flex h-11 shrink-0 items-center gap-1 border-b border-line pr-2 pl-4">
        <div role="tablist" aria-label="Panel" className="flex flex-1 gap-3 text-[14px]">
          {(['retrieved', 'knowledge'] as const).map((tab) => (
            <button
              key={tab}
              type="button"
              role="tab"
              aria-selected={view === tab}
              className={`h-11 ${view === tab ? 'font-semibold' : 'text-dim hover:text-text'}`}
              onClick={() => setView(tab)}
            >
              {tab === 'retrieved' ? 'Retrieved' : 'Known in this thread'}
            </button>
          ))}
        </div>
        <button type="button" className="icon-btn" aria-label="Close" title="Close" autoFocus onClick={close}>
          <X size={16} aria-hidden />
        </button>
      </div>
      <div
        role="tabpanel"
        aria-label={view === 'retrieved' ? 'Retrieved' : 'Known in this thread'}
        className="min-h-0 flex-1 overflow-y-auto p-4"
        tabIndex={0}
      >
        {view === 'retrieved' ? (
          <Retrieved key={asked.turnId ?? asked.words} thread={thread} channel={channel} asked={asked} />
        ) : (
          <Sources scope={{ type: 'thread', id: thread.id, space: thread.space }} />
        )}
      </div>
    </aside>
  );
}

function Retrieved({ thread, channel, asked }: { thread: Thread; channel?: Channel; asked: Asked }) {
  const agents = useStore((state) => state.status?.agents);
  const [words, setWords] = useState(asked.words);
  const wanted = useSettled(words, TYPING_MS).trim();
  const found = useLoaded(wanted === '' ? undefined : `context ${thread.id} ${wanted}`, () =>
    onyx.threads.context(thread.id, wanted),
  );
  const turn = useStore((state) => state.conversations[thread.id]?.turns.find((known) => known.id === asked.turnId));
  const sent = wanted === asked.words.trim() && turn?.type === 'user' ? turn : undefined;
  return (
    <>
      <label className="meta block">
        {asked.turnId ? 'For the sent message' : 'For this message'}
        <input
          type="search"
          dir="auto"
          className="field mt-1 text-text"
          value={words}
          placeholder="Message to try"
          onChange={(event) => setWords(event.target.value)}
        />
      </label>
      {wanted === '' && <p className="meta mt-4">Type a message to see what the agents would be given.</p>}
      {wanted !== '' && found.fault && <ErrorLine fault={found.fault} action={{ label: 'Retry', run: found.reload }} />}
      {wanted !== '' && found.loading && (
        <div className="mt-4">
          <Skeletons rows={3} height="h-16" />
        </div>
      )}
      {found.data && (
        <Found
          context={found.data}
          sent={sent !== undefined}
          rows={
            sent ? compared(givenOf(sent.pieces), found.data.pieces, found.data.budget) : foreseen(found.data.pieces)
          }
          budget={found.data.budget}
          names={{
            thread: thread.title,
            channel: channel?.name ?? thread.channel,
            space: thread.space,
            agent: found.data.agents.map((id) => agents?.find((agent) => agent.id === id)?.name ?? id).join(', '),
          }}
        />
      )}
    </>
  );
}

const TITLES: Record<ScopeName, string> = {
  thread: 'This thread',
  channel: 'Channel',
  space: 'Space',
  agent: 'Coworkers',
};

function Found({
  context,
  sent,
  rows,
  budget,
  names,
}: {
  context: ThreadContext;
  sent: boolean;
  rows: Row[];
  budget: number;
  names: Record<ScopeName, string>;
}) {
  const used = spent(rows);
  const [cut, since] = (['cut', 'since'] as const).map((state) => rows.filter((row) => row.state === state).length) as [
    number,
    number,
  ];
  return (
    <>
      <div className="mt-3" role="status">
        <div className="h-1 overflow-hidden rounded-full bg-line" aria-hidden>
          <div className="h-full bg-dim" style={{ width: `${Math.min(100, Math.round((used / budget) * 100))}%` }} />
        </div>
        <p className="mt-1 text-tiny text-dim">
          {sent ? 'Given' : 'Would be given'}: {rows.filter(wasGiven).length}, about {tokens(used)} of {tokens(budget)}{' '}
          tokens
          {cut > 0 && `; no room for ${cut}`}
          {since > 0 && `; ${since} found since`}
        </p>
        {context.degraded && <p className="mt-1 text-tiny text-warn">Searched by words only: {context.degraded}</p>}
      </div>
      {SCOPES.map((scope) => {
        const own = rows.filter((row) => row.scope === scope);
        return (
          <section key={scope} className="mt-4" aria-label={TITLES[scope]}>
            <h3 className="mb-1.5 flex items-baseline gap-2 text-tiny text-dim">
              <span className="shrink-0 font-semibold">{TITLES[scope]}</span>
              <span className="min-w-0 truncate" dir="auto">
                {names[scope]}
              </span>
              <span className="ml-auto shrink-0">{own.length}</span>
            </h3>
            {own.length === 0 ? (
              <p className="text-meta text-dim">No matches.</p>
            ) : (
              own.map((row) => <PieceCard key={`${row.source}:${row.startLine}:${row.state}`} row={row} />)
            )}
          </section>
        );
      })}
    </>
  );
}

const MATCHES = { fts: 'by words', vec: 'by meaning', hybrid: 'by words and meaning' };
const STATES = {
  given: undefined,
  cut: 'no room for it',
  gone: 'given then, no longer there',
  since: 'not given: found since',
};

/** Text from sources is shown only as plain text. */
function PieceCard({ row }: { row: Row }) {
  const { source, startLine, endLine, text, title, state, matchType, score } = row;
  const lines = startLine === endLine ? `line ${startLine}` : `lines ${startLine}–${endLine}`;
  return (
    <article
      className={`card mb-2 px-3 py-2 ${state === 'given' ? '' : 'border-dashed'}`}
      aria-label={`${title ?? source}, ${lines}`}
    >
      <Link to={placeOf(row)} className="flex items-center gap-1.5 text-meta hover:underline" title={source}>
        <FileText size={13} className="shrink-0 text-dim" aria-hidden />
        <span className="min-w-0 truncate" dir="auto">
          {title ?? source}
        </span>
        <span className="ml-auto shrink-0 text-tiny text-dim">{lines}</span>
      </Link>
      <p className="mt-1 line-clamp-4 text-meta whitespace-pre-wrap text-dim [overflow-wrap:anywhere]" dir="auto">
        {text}
      </p>
      <p className="mt-1 flex gap-2 text-tiny text-dim">
        {STATES[state] && <span className="text-warn">{STATES[state]}</span>}
        {matchType && (
          <span title={score === undefined ? undefined : `Score ${score.toFixed(3)}`}>{MATCHES[matchType]}</span>
        )}
      </p>
    </article>
  );
}
