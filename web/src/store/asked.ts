// Runs that were asked for over HTTP. That stream only keeps them going; what they tell comes over the one connection into
// the one store, as it does for every other run.

import { changeConversation, loadConversation, socket } from './client';
import { startLive } from './messages';

export function followAsked(sessionId: string, runId: string): void {
  changeConversation(sessionId, (known) =>
    known.live?.runId === runId ? known : { ...known, live: startLive(runId) },
  );
  // What the connection does not bring now, the log does when it is back.
  socket.follow(runId).catch(() => undefined);
}

/** After its end the log is the truth, also for a run that was over before the connection could tell of it. */
export async function settleAsked(sessionId: string, runId: string): Promise<void> {
  changeConversation(sessionId, (known) =>
    known.live?.runId === runId && known.live.seq === 0 ? { ...known, live: undefined } : known,
  );
  await loadConversation(sessionId);
}
