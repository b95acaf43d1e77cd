// What the page of a chat and the page of a new chat have in common.

import { Link } from '@tanstack/react-router';
import { Hourglass } from 'lucide-react';
import type { ReactNode } from 'react';
import type { EntityRef } from '@onyx/sdk';
import { onyx } from '../store/client';
import { useLoaded } from '../ui/useLoaded';
import { placeOf } from './attached';

/** Explains in a temporary chat that it is temporary. */
export function TemporaryNote() {
  return (
    <p
      role="note"
      className="flex items-center gap-2 border-b border-line bg-sunken px-4 py-2 text-meta text-dim md:px-6"
    >
      <Hourglass size={14} className="shrink-0" aria-hidden />
      <span>
        Temporary chat. It is not listed, searched or remembered, and is deleted 24 hours after its last message.
      </span>
    </p>
  );
}

/** A link to the page, task, ref or project that the chat is about. */
export function About({ entity }: { entity: EntityRef }) {
  const place = placeOf(entity);
  const { data } = useLoaded(`${entity.space}/${place}/${entity.id}`, () =>
    onyx.spaces.entity(entity.space, place, entity.id),
  );
  return (
    <Link
      to="/spaces/$space/$place/$entity"
      params={{ space: entity.space, place, entity: entity.id }}
      className="chip max-w-60 min-w-0"
      title={`About this ${entity.kind}`}
    >
      <span className="truncate">{data?.title ?? entity.id}</span>
    </Link>
  );
}

/** The place of the composer, below the conversation. */
export function Bottom({ children }: { children: ReactNode }) {
  return <div className="shrink-0 px-3 pb-3 md:px-6 md:pb-5">{children}</div>;
}
