import { Link } from '@tanstack/react-router';
import { ChevronLeft } from 'lucide-react';
import { useEffect, type ReactNode } from 'react';
import { visible } from '../ui/visible';
import { useWaiting } from './useWaiting';

/** The bar above a page; it also sets the document's title. */
export function Header({ title, back, children }: { title: string; back?: string; children?: ReactNode }) {
  const waiting = useWaiting();
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${visible(title)} · Onyx`;
  }, [title, waiting]);
  return (
    <header className="flex h-13 shrink-0 items-center gap-2 border-b border-line px-4 md:px-6">
      {back && (
        <Link to={back} className="icon-btn -ml-2" aria-label="Back" title="Back">
          <ChevronLeft size={18} aria-hidden />
        </Link>
      )}
      <h1 className="min-w-0 truncate text-body font-semibold" title={title}>
        {title}
      </h1>
      <span className="flex-1" />
      {children}
    </header>
  );
}
