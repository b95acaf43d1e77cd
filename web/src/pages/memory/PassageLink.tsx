import type { ReactNode } from 'react';
import { Link } from '@tanstack/react-router';
import type { Passage } from './passages';

/** Opens the chat at the message, or the file at the line. */
export function PassageLink({ to, className, children }: { to: Passage; className: string; children: ReactNode }) {
  if ('session' in to)
    return (
      <Link to="/chat/$id" params={{ id: to.session }} search={{ turn: to.turn }} className={className}>
        {children}
      </Link>
    );
  return (
    <Link to="/memory" search={to} className={className}>
      {children}
    </Link>
  );
}
