import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Merge } from 'lucide-react';
import type { EntityPage as Entity, FactSource, KnownFact } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { Ask } from '../../ui/Modal';
import { Page, Shown } from '../../ui/page';
import { dayOf } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';
import { PassageLink } from './PassageLink';
import { passageOfFact } from './passages';

/** The open dialog: merge with another name, or split off a text's meaning. */
type Asked = { kind: 'merge' } | { kind: 'apart'; path: string };

/** The facts about one entity over time, with their sources. */
export function EntityPage({ name }: { name: string }) {
  const navigate = useNavigate();
  const entity = useLoaded(`entity ${name}`, () => onyx.memory.entity(name));
  const [asked, setAsked] = useState<Asked>();
  const show = (entity?: Entity) => {
    if (entity) void navigate({ to: '/memory', search: { entity: entity.name } });
  };
  const answer = async (other?: string) => {
    setAsked(undefined);
    if (!asked || !other?.trim()) return;
    const change = () =>
      asked.kind === 'merge'
        ? onyx.memory.merge(other.trim(), [name])
        : onyx.memory.split(name, { into: other.trim(), paths: [asked.path] });
    show(await attempt('Not changed', change));
  };
  const unmerge = async (also: string) => show(await attempt('Not changed', () => onyx.memory.split(also)));
  return (
    <Page
      title={entity.data?.name ?? name}
      back="/memory"
      bar={
        <button type="button" className="btn" onClick={() => setAsked({ kind: 'merge' })}>
          <Merge size={15} aria-hidden /> <span className="max-sm:sr-only">Same as…</span>
        </button>
      }
    >
      <Shown of={entity} rows={4} height="h-16">
        {(entity) => (
          <>
            {entity.also.length > 0 && (
              <ul className="mb-4 flex flex-wrap gap-2" aria-label="Other names">
                {entity.also.map((also) => (
                  <li key={also} className="chip flex items-center gap-2">
                    <span dir="auto">{also}</span>
                    <button type="button" className="underline" onClick={() => void unmerge(also)}>
                      Separate
                    </button>
                  </li>
                ))}
              </ul>
            )}
            {entity.partial && (
              <p role="status" className="meta mb-3">
                Still reading. More may appear later.
              </p>
            )}
            <Facts
              label="Now"
              facts={entity.facts.filter((fact) => !fact.until)}
              entity={entity}
              onApart={(path) => setAsked({ kind: 'apart', path })}
            />
            <Facts
              label="Before"
              facts={entity.facts.filter((fact) => fact.until)}
              entity={entity}
              onApart={(path) => setAsked({ kind: 'apart', path })}
            />
          </>
        )}
      </Shown>
      {asked?.kind === 'merge' && (
        <Ask label={`${name} is the same as`} value="" action="Merge" onAnswer={(other) => void answer(other)} />
      )}
      {asked?.kind === 'apart' && (
        <Ask
          label={`Name for the other ${name} in ${asked.path}`}
          value={`${name} (2)`}
          action="Split"
          onAnswer={(other) => void answer(other)}
        />
      )}
    </Page>
  );
}

interface FactsProps {
  label: string;
  facts: KnownFact[];
  entity: Entity;
  onApart: (path: string) => void;
}

function Facts({ label, facts, entity, onApart }: FactsProps) {
  if (facts.length === 0) return null;
  return (
    <section className="mb-6">
      <h2 className="meta mb-2">{label}</h2>
      <ul className="flex flex-col gap-2" aria-label={label}>
        {facts.map((fact, index) => (
          <li key={index} className="card px-4 py-3">
            <Fact fact={fact} entity={entity} onApart={onApart} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Fact({ fact, entity, onApart }: { fact: KnownFact; entity: Entity; onApart: (path: string) => void }) {
  return (
    <details>
      <summary className="flex cursor-pointer flex-wrap items-baseline gap-x-2">
        {fact.subject !== entity.name && <Name name={fact.subject} />}
        <span className="text-dim">{fact.relation}</span>
        {fact.objectIsEntity && fact.object !== entity.name ? (
          <Name name={fact.object} />
        ) : (
          <span className="font-semibold" dir="auto">
            {fact.object}
          </span>
        )}
        <span className="meta">{span(fact)}</span>
        {!fact.trusted && <span className="text-meta text-warn">from outside, not confirmed</span>}
      </summary>
      <ul className="mt-2 flex flex-col gap-2" aria-label="Sources">
        {fact.sources.map((source, index) => (
          <li key={index}>
            <Source source={source} onApart={onApart} />
          </li>
        ))}
      </ul>
    </details>
  );
}

function Source({ source, onApart }: { source: FactSource; onApart: (path: string) => void }) {
  const place = `${source.path}:${source.line}`;
  return (
    <div className="text-[14px] leading-5">
      <blockquote className="border-l-2 border-line pl-3 text-dim [overflow-wrap:anywhere]" dir="auto">
        {source.text}
      </blockquote>
      <span className="flex flex-wrap items-baseline gap-x-3">
        <PassageLink to={passageOfFact(source)} className="meta truncate underline">
          {source.sessionId ? [source.title, source.author, dayOf(source.saidAt)].filter(Boolean).join(', ') : place}
        </PassageLink>
        <button type="button" className="meta underline" onClick={() => onApart(source.path)}>
          Not this one
        </button>
      </span>
    </div>
  );
}

function Name({ name }: { name: string }) {
  return (
    <Link to="/memory" search={{ entity: name }} className="font-semibold underline" dir="auto">
      {name}
    </Link>
  );
}

function span(fact: KnownFact): string {
  return fact.until ? `${dayOf(fact.from)} to ${dayOf(fact.until)}` : `since ${dayOf(fact.from)}`;
}
