import { useState, type ReactNode } from 'react';
import { ChevronRight } from 'lucide-react';
import { keep, readKept } from '../store/kept';

const FOLDED = 'onyx.nav.folded';

/** A part of the navigation that can be folded, and stays so in this browser. */
export function NavSection({ label, children }: { label: string; children: ReactNode }) {
  const [folded, setFolded] = useState(() => readKept<string[]>(FOLDED, []).includes(label));
  const toggle = () => {
    const others = readKept<string[]>(FOLDED, []).filter((name) => name !== label);
    keep(FOLDED, folded ? others : [...others, label]);
    setFolded(!folded);
  };
  return (
    <section aria-label={label} className="flex shrink-0 flex-col gap-0.5">
      <button
        type="button"
        className="group/fold mt-2 flex h-7 items-center gap-1 rounded-sm px-2 text-left text-tiny text-dim hover:text-text max-xl:hidden"
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
      {/* Where only icons are shown there is nothing to fold. */}
      <div className={`flex flex-col gap-0.5 ${folded ? 'xl:hidden' : ''}`}>{children}</div>
    </section>
  );
}
