import { createContext, useContext } from 'react';
import type { ContextPiece } from '@onyx/sdk';

/** What the numbers in an answer stand for. */
export const Citations = createContext<ContextPiece[] | undefined>(undefined);

export function useCitation(): ((number: number) => ContextPiece | undefined) | undefined {
  const pieces = useContext(Citations);
  return pieces && ((number) => pieces[number - 1]);
}
