// The conversation with the agent that edits a persona. It is a session like any other, whose messages are
// in the one store; this module holds its id and the run that this window started.

import type { Fault, PersonaRun } from '@onyx/sdk';
import { create } from 'zustand';
import { followHttpRun, settleHttpRun } from '../../../store/httpRuns';
import { faultOf, loadConversation, onyx, socket } from '../../../store/client';
import { useStore, type Pending } from '../../../store/state';

export interface EditorChat {
  sessionId?: string;
  /** True while a message of this window is sent or answered. */
  busy: boolean;
  /** Messages that wait for the running answer. */
  queued: string[];
  /** The text of a refused message, given back to the person. */
  refused?: { words: string; fault: Fault };
  /** Why the stream of the answer broke off. */
  broken?: Fault;
}

const QUIET: EditorChat = { busy: false, queued: [] };

const useEditorChats = create<Record<string, EditorChat>>(() => ({}));

export const useEditorChat = (persona: string): EditorChat => useEditorChats((chats) => chats[persona] ?? QUIET);

const editorChatOf = (persona: string): EditorChat => useEditorChats.getState()[persona] ?? QUIET;
const put = (persona: string, change: Partial<EditorChat>) =>
  useEditorChats.setState({ [persona]: { ...editorChatOf(persona), ...change } });

/** The streams of answers to this window. */
const drains = new Map<string, Promise<void>>();

/** Loads the current conversation, so that its output can be shown. */
export async function openEditorChat(persona: string, sessionId: string | null | undefined): Promise<void> {
  if (editorChatOf(persona).busy || !sessionId) return;
  put(persona, { sessionId });
  await loadConversation(sessionId);
}

/** Sends a message to the editor, after the running answer if there is one. */
export async function tellEditor(persona: string, words: string): Promise<void> {
  if (editorChatOf(persona).busy) return put(persona, { queued: [...editorChatOf(persona).queued, words] });
  put(persona, { busy: true, refused: undefined, broken: undefined });
  try {
    const run = await onyx.personas.chat(persona, words);
    put(persona, { sessionId: run.sessionId });
    follow(run, words);
    const drained = drain(persona, run);
    drains.set(persona, drained);
    await drained;
  } catch (error) {
    put(persona, { refused: { words, fault: faultOf(error) } });
  }
  const [next, ...queued] = editorChatOf(persona).queued;
  put(persona, { busy: false, queued });
  if (next !== undefined) await tellEditor(persona, next);
}

function follow({ sessionId, runId }: PersonaRun, content: string): void {
  const words: Pending = {
    key: crypto.randomUUID(),
    sessionId,
    runId,
    content,
    request: {},
    at: new Date().toISOString(),
    state: 'sending',
  };
  useStore.setState((state) => ({ pending: [...state.pending, words] }));
  followHttpRun(sessionId, runId);
}

/** The run continues only while this stream is read. Its events arrive through the store too. */
async function drain(persona: string, { sessionId, runId, events }: PersonaRun): Promise<void> {
  try {
    for await (const _ of events);
  } catch (error) {
    put(persona, { broken: faultOf(error) });
  }
  await settleHttpRun(sessionId, runId);
}

/** Archives the conversation and starts another one. */
export async function clearEditorChat(persona: string): Promise<void> {
  const { sessionId } = editorChatOf(persona);
  put(persona, { queued: [] });
  if (sessionId !== undefined && useStore.getState().conversations[sessionId]?.live) {
    await socket.abort({ sessionId });
    await drains.get(persona);
  }
  put(persona, { sessionId: await onyx.personas.clear(persona), refused: undefined, broken: undefined });
}

/** Called when the refused text is in the composer again. */
export function takeBack(persona: string): void {
  put(persona, { refused: undefined });
}

/** The number of finished steps of the editor's active run; each may have changed the persona. */
export function useEditorSteps(persona: string): number {
  const { sessionId } = useEditorChat(persona);
  return useStore((state) => {
    const live = sessionId === undefined ? undefined : state.conversations[sessionId]?.live;
    const steps = live?.answers.flatMap((answer) =>
      answer.parts.flatMap((part) => (part.kind === 'tools' ? part.steps : [])),
    );
    return steps?.filter((step) => step.ok !== undefined).length ?? 0;
  });
}
