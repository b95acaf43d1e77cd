import { useEffect, type ReactNode } from 'react';

/** The bar above a page; its title is the document's too. */
export function Header({ title, children }: { title: string; children?: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Onyx`;
  }, [title]);
  return (
    <header className="flex h-13 shrink-0 items-center gap-2 border-b border-line px-4 md:px-6">
      <h1 className="min-w-0 truncate text-body font-semibold">{title}</h1>
      <span className="flex-1" />
      {children}
    </header>
  );
}
