import { createContext, useContext } from 'react';

/** Where a conversation is drawn: its own page, the rail of a space, a thread, or a temporary panel. */
export type Density = 'page' | 'rail' | 'thread' | 'ephemeral';

/** How a conversation is drawn, and the actions that its place provides. */
export interface Surface {
  density: Density;
  /** Requests the answer to a message again. A chat page does without: it regenerates in a fork. */
  again?: (asked: string, agent?: string) => void;
  /** The person's last message, if its answers can be requested again. */
  latest?: string;
  /** Cancels an answer that was promised and has not started. */
  takeBack?: (promised: string) => void;
  /** Shows what was retrieved for a message. */
  retrieved?: (asked: string) => void;
}

const SurfaceContext = createContext<Surface>({ density: 'page' });

export const SurfaceProvider = SurfaceContext.Provider;
export const useSurface = () => useContext(SurfaceContext);
