import { Link } from '@tanstack/react-router';

/** Tabs within a page, each with its own address. */
export function Tabs({
  label,
  tabs,
  exact = true,
}: {
  label: string;
  tabs: { to: string; text: string }[];
  exact?: boolean;
}) {
  return (
    <nav aria-label={label} className="-mr-2 flex min-w-0 gap-1 overflow-x-auto text-[14px]">
      {tabs.map(({ to, text }) => (
        <Link
          key={to}
          to={to}
          className="flex h-8 shrink-0 items-center px-2 text-dim hover:text-text aria-[current=page]:font-semibold aria-[current=page]:text-text max-md:h-11"
          activeOptions={{ exact, includeSearch: false }}
          activeProps={{ 'aria-current': 'page' }}
        >
          {text}
        </Link>
      ))}
    </nav>
  );
}
