// Runs that were started over HTTP. That stream only keeps them alive; their events arrive over the one connection in
// the one store, like those of every other run.

import { changeConversation, loadConversation, socket } from './client';
import { startLive } from './liveRun';

export function followHttpRun(sessionId: string, runId: string): void {
  changeConversation(sessionId, (known) =>
    known.live?.runId === runId ? known : { ...known, live: startLive(runId) },
  );
  // Events missed by the connection are read from the log when it is back.
  socket.follow(runId).catch(() => undefined);
}

/** After its end a run is read from the log, even if it ended before the connection reported it. */
export async function settleHttpRun(sessionId: string, runId: string): Promise<void> {
  changeConversation(sessionId, (known) =>
    known.live?.runId === runId && known.live.seq === 0 ? { ...known, live: undefined } : known,
  );
  await loadConversation(sessionId);
}
