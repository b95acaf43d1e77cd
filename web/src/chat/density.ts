import { createContext, useContext } from 'react';

/** A page of its own, the rail beside a space, a thread of a channel, or a panel that comes and goes. */
export type Density = 'page' | 'rail' | 'thread' | 'ephemeral';

/** How a conversation is drawn, and what the place it is in knows to do. */
export interface Surface {
  density: Density;
  /** Asks once more for the answer to a message. A chat page needs none: it can answer anew in a fork. */
  again?: (asked: string, agent?: string) => void;
  /** The person's last message, where any answer to it may be asked for again. */
  latest?: string;
  /** Takes back an answer that was promised and has not begun. */
  takeBack?: (promised: string) => void;
  /** Shows what was retrieved for a message. */
  retrieved?: (asked: string) => void;
}

const SurfaceContext = createContext<Surface>({ density: 'page' });

export const SurfaceProvider = SurfaceContext.Provider;
export const useSurface = () => useContext(SurfaceContext);
