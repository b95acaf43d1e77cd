import type { ReactNode } from 'react';

/** How an entry of the palette looks, whichever group it is in. */
export const ITEM =
  'flex min-h-10 cursor-pointer items-center gap-2.5 rounded-sm px-3 py-1.5 text-[14px] data-[selected=true]:bg-sunken';

/** The title of a group of entries. */
export const Heading = ({ children }: { children: ReactNode }) => (
  <span className="block px-3 pt-2 pb-1 text-tiny text-dim">{children}</span>
);
