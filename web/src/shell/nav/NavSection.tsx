import { useState, type ReactNode } from 'react';
import { Link } from '@tanstack/react-router';
import { ChevronRight } from 'lucide-react';
import { writeStored, readStored } from '../../store/browserStorage';

const FOLDED = 'onyx.nav.folded';

/** A foldable section of the navigation; the browser remembers its state. */
export function NavSection({
  label,
  all,
  children,
}: {
  label: string;
  /** The link to the full list. */
  all?: { to: string; label: string };
  children: ReactNode;
}) {
  const [folded, setFolded] = useState(() => readStored<string[]>(FOLDED, []).includes(label));
  const toggle = () => {
    const others = readStored<string[]>(FOLDED, []).filter((name) => name !== label);
    writeStored(FOLDED, folded ? others : [...others, label]);
    setFolded(!folded);
  };
  return (
    <section aria-label={label} className="flex shrink-0 flex-col gap-0.5">
      <div className="mt-2 flex items-center max-xl:hidden">
        <button
          type="button"
          className="group/fold flex h-7 min-w-0 flex-1 items-center gap-1 rounded-sm px-2 text-left text-tiny text-dim hover:text-text"
          aria-expanded={!folded}
          onClick={toggle}
        >
          {label}
          <ChevronRight
            size={12}
            className={`transition-transform ${folded ? '' : 'rotate-90 opacity-0 group-hover/fold:opacity-100 group-focus-visible/fold:opacity-100'}`}
            aria-hidden
          />
        </button>
        {all && (
          <Link
            to={all.to}
            className="rounded-sm px-2 text-tiny leading-7 text-dim hover:text-text aria-[current=page]:text-accent"
            activeOptions={{ exact: true }}
            activeProps={{ 'aria-current': 'page' }}
            aria-label={all.label}
          >
            All
          </Link>
        )}
      </div>
      {/* The icon bar has nothing to fold. */}
      <div className={`flex flex-col gap-0.5 ${folded ? 'xl:hidden' : ''}`}>{children}</div>
    </section>
  );
}
