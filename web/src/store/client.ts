// The one connection, and how its events become state.

import {
  Onyx,
  OnyxError,
  type ChangeEvent,
  type EventEnvelope,
  type Fault,
  type Link,
  type Session,
  type SessionPage,
  type TurnPage,
} from '@onyx/sdk';
import { writeStored, readStored } from './browserStorage';
import { keepDraft, refreshDraft, refreshDrafts, refreshMemberDrafts } from './drafts';
import { applyEvent, notesOf, startLive, type Live } from './liveRun';
import type { Notes } from './messages';
import { tellEnded, tellJob } from './notify';
import { forgetAllChats, forgetChat, keepChat, keepOfflineFor, showKeptChats } from './offline';
import { keepOutbox } from './outbox';
import { useStore, type Conversation } from './state';

const TOKEN = 'onyx.token';
/** The page key. Cookies are sent to every port of a host; storage belongs to this origin alone. */
const PAGE_KEY = 'onyx.page_key';
const PAGE = 200;
/** The largest page of turns that the server sends. */
const LARGEST_PAGE = 1_000;
const FRAME_MS = 20;
const NEW_SESSION_MS = 400;
const NOTES = 'onyx.notes';
/** The number of answers whose notes are kept. */
const MOST_NOTED = 200;

export const onyx = new Onyx({
  baseUrl: location.origin,
  token: { current: () => readStored<string | undefined>(TOKEN, undefined) },
  pageKey: () => readStored<string | undefined>(PAGE_KEY, undefined),
});

const credential = () =>
  readStored<string | undefined>(TOKEN, undefined) ?? readStored<string | undefined>(PAGE_KEY, undefined);
keepOfflineFor(credential);

export const socket = onyx.socket({ link: onLink, event: onEvent, change: onChange });

const { getState, setState } = useStore;

export function signIn(token: string): void {
  void forgetAllChats();
  writeStored(TOKEN, token);
  reconnect();
}

/**
 * Signs in with a password. The server answers with a cookie that no script can read, and a key that only pages of this
 * origin can read.
 */
export async function logIn(person: string, password: string): Promise<void> {
  void forgetAllChats();
  writeStored(TOKEN, undefined);
  const { pageKey } = await onyx.http.json<{ pageKey: string }>('/api/auth/login', { body: { person, password } });
  writeStored(PAGE_KEY, pageKey);
  reconnect();
}

function reconnect(): void {
  socket.close();
  setState({ link: 'connecting' });
  socket.connect();
}

export async function signOut(): Promise<void> {
  // A token that is no longer valid is forgotten too.
  await onyx.http.json('/api/auth/logout', { body: {} }).catch(() => undefined);
  writeStored(TOKEN, undefined);
  writeStored(PAGE_KEY, undefined);
  await forgetAllChats();
  location.assign('/');
}

export function faultOf(error: unknown): Fault {
  if (error instanceof OnyxError)
    return { code: error.code, message: error.message, hint: error.hint, field: error.field };
  return { code: 'internal', message: String(error), hint: 'Reload the page. Nothing you sent is lost.' };
}

let onBack: () => void = () => undefined;

/** Functions that run each time the connection is established. */
export function whenOnline(act: () => void): void {
  onBack = act;
}

function onLink(link: Link, refusal?: Fault): void {
  setState((state) => ({ link, refusal, lostAt: link === 'online' ? undefined : (state.lostAt ?? Date.now()) }));
  if (link === 'online') void refresh();
  else if (link === 'unauthenticated') void forgetAllChats();
  else void showKeptChats();
}

async function refresh(): Promise<void> {
  onBack();
  void refreshMe();
  await Promise.all([refreshStatus(), refreshSessions(), refreshDrafts(), refreshMemberDrafts()]);
  const running = new Set(getState().status?.runs.map((run) => run.runId));
  for (const [id, conversation] of Object.entries(getState().conversations)) {
    const { live } = conversation;
    // A restarted server does not know the run; the log does.
    if (live && !running.has(live.runId)) void loadConversation(id);
    else if (!live && id === getState().shown) void loadConversation(id);
  }
}

export async function refreshStatus(): Promise<void> {
  try {
    setState({ status: await socket.status(), statusFault: undefined });
  } catch (error) {
    const fault = faultOf(error);
    // A lost connection is shown elsewhere.
    if (fault.code !== 'offline') setState({ statusFault: fault });
  }
}

/** Loads the signed-in person. The app offers what they may do; the server decides what is allowed. */
async function refreshMe(): Promise<void> {
  try {
    const me = await onyx.me();
    setState({ me });
    void refreshMemberDrafts();
    if (me.role !== 'owner') return;
    const models = await onyx.admin.models();
    setState({ models: Object.fromEntries(models.map((model) => [model.id, model])) });
  } catch {
    // Without the answer everything is offered, and a forbidden call fails with a message.
  }
}

export async function refreshSessions(): Promise<void> {
  try {
    const { sessions } = await socket.sessions({ limit: 100, status: 'active' });
    setState((state) => ({ sessionsPhase: 'ready', sessions: { ...state.sessions, ...byId(sessions) } }));
    // The session may be older than the whole list.
    const pinned = await onyx.sessions.list({ pinned: true, status: 'active', limit: 50 });
    setState((state) => ({ sessions: { ...byId(pinned.sessions), ...state.sessions } }));
  } catch {
    setState((state) => ({ sessionsPhase: state.sessionsPhase === 'ready' ? 'ready' : 'failed' }));
  }
}

export const byId = (sessions: Session[]) => Object.fromEntries(sessions.map((session) => [session.id, session]));

export function changeConversation(id: string, change: (known: Conversation) => Conversation): void {
  setState((state) => {
    const known = state.conversations[id] ?? { turns: [], phase: 'loading' };
    return { conversations: { ...state.conversations, [id]: change(known) } };
  });
}

/** Loads the newest page of a session, and its active run if there is one. */
export async function loadConversation(id: string): Promise<void> {
  changeConversation(id, (known) => known);
  const told = getState().conversations[id]?.live;
  // A run that was just requested is not in the log yet; its first event shows when it is.
  if (told?.seq === 0) return;
  try {
    const page = await socket.session(id, { limit: PAGE });
    setState((state) => ({ sessions: { ...state.sessions, [id]: page.session } }));
    // Events that arrived before the page and are not drawn yet belong to the run that the page may end.
    if (queue.length > 0) flush();
    const isOver = (live?: Live) => live?.runId === told?.runId && live?.runId !== page.session.runId;
    const shown = getState().conversations[id]?.live;
    // The page may arrive before the run's last event.
    if (isOver(shown)) keepNotes(shown);
    changeConversation(id, (known) => {
      const live = isOver(known.live) ? undefined : known.live;
      const { siblings, queued } = page;
      // The offline copy is replaced by the server's answer.
      const before = known.kept ? { turns: [] } : known;
      const turns = joined({ ...known, ...before }, page);
      return { ...known, ...turns, siblings, queued, phase: 'ready', fault: undefined, live, kept: undefined };
    });
    settlePending(id, page);
    void keepChat(page.session, page.turns);
    if (page.session.runId) await followRun(id, page.session.runId);
  } catch (error) {
    const fault = faultOf(error);
    changeConversation(id, (known) =>
      known.phase === 'ready' ? known : { ...known, phase: fault.code === 'offline' ? 'loading' : 'failed', fault },
    );
  }
}

/** Joins the new page with the older turns loaded before, if they overlap. */
function joined(known: Conversation, page: TurnPage): Pick<Conversation, 'turns' | 'before'> {
  const first = page.turns[0]?.id;
  const at = first === undefined ? -1 : known.turns.findIndex((turn) => turn.id === first);
  if (at <= 0) return { turns: page.turns, before: page.before ?? undefined };
  return { turns: [...known.turns.slice(0, at), ...page.turns], before: known.before };
}

const reading = new Map<string, Promise<void>>();

/** Loads the page before the oldest loaded turn, once at a time. The promise resolves when it is drawn. */
export function loadOlder(id: string, limit = PAGE): Promise<void> {
  const under = reading.get(id) ?? readOlder(id, limit).finally(() => reading.delete(id));
  reading.set(id, under);
  return under;
}

async function readOlder(id: string, limit: number): Promise<void> {
  const before = getState().conversations[id]?.before;
  if (before === undefined) return;
  changeConversation(id, (known) => ({ ...known, older: true }));
  try {
    const page = await socket.session(id, { limit, before });
    changeConversation(id, (known) =>
      known.before === before
        ? { ...known, turns: [...page.turns, ...known.turns], before: page.before ?? undefined }
        : known,
    );
    await new Promise((resolve) => setTimeout(resolve, FRAME_MS));
  } finally {
    changeConversation(id, (known) => ({ ...known, older: false }));
  }
}

/** Loads all older turns, for a search; `wanted` says whether to continue. */
export async function loadAllOlder(id: string, wanted: () => boolean): Promise<void> {
  while (wanted() && getState().conversations[id]?.before !== undefined) await loadOlder(id, LARGEST_PAGE);
}

/** Removes messages from the outbox once they are in the log. */
function settlePending(id: string, { turns, queued }: Pick<SessionPage, 'turns' | 'queued'>): void {
  const runs = new Set(turns.map((turn) => turn.runId));
  const ids = new Set(turns.map((turn) => turn.id));
  const live = getState().conversations[id]?.live?.runId;
  const unread = new Set(queued.map((message) => message.id));
  setState((state) => ({
    pending: state.pending.filter((item) => {
      if (item.sessionId !== id) return true;
      // The server keeps the waiting message from now on.
      if (item.queuedTurn !== undefined)
        return !unread.has(item.queuedTurn) && !ids.has(item.queuedTurn) && item.runId === live;
      if (item.turnId !== undefined) return !ids.has(item.turnId);
      if (item.runId === undefined) return true;
      const stillQueued = item.state === 'queued' && item.runId === live;
      return stillQueued || !runs.has(item.runId);
    }),
  }));
  keepOutbox();
}

async function followRun(sessionId: string, runId: string): Promise<void> {
  changeConversation(sessionId, (known) =>
    known.live?.runId === runId ? known : { ...known, live: startLive(runId) },
  );
  await socket.follow(runId, getState().conversations[sessionId]?.live?.seq ?? 0).catch(() => undefined);
}

// Deltas arrive faster than the screen is drawn, so they are applied once per frame.
let queue: EventEnvelope[] = [];
let scheduled = false;

function onEvent(envelope: EventEnvelope): void {
  queue.push(envelope);
  if (scheduled) return;
  scheduled = true;
  if (document.hidden) setTimeout(flush, 100);
  else requestAnimationFrame(flush);
}

function flush(): void {
  const batch = queue;
  queue = [];
  scheduled = false;
  const ended: EventEnvelope[] = [];
  const unknown = new Set<string>();
  const changed: Record<string, Conversation> = {};
  const { conversations } = getState();
  for (const envelope of batch) {
    const known = changed[envelope.sessionId] ??
      conversations[envelope.sessionId] ?? { turns: [], phase: 'loading' as const };
    const isKnown = known.live?.runId === envelope.runId;
    // An event without the ones before it is useless, so the run is read from its beginning.
    if (!isKnown && envelope.seq > 1) {
      unknown.add(envelope.sessionId);
      continue;
    }
    const live = isKnown && known.live ? known.live : startLive(envelope.runId);
    changed[envelope.sessionId] = { ...known, live: applyEvent(live, envelope.seq, envelope.agent, envelope.event) };
    if (envelope.event.type === 'start' && known.phase !== 'ready') unknown.add(envelope.sessionId);
    if (envelope.event.type === 'done') ended.push(envelope);
    if (envelope.event.type === 'draft' || envelope.event.type === 'confirm') keepDraft(envelope);
  }
  setState((state) => ({ conversations: { ...state.conversations, ...changed } }));
  for (const id of unknown) void loadConversation(id);
  for (const envelope of ended) void settleRun(envelope.sessionId);
}

function keepNotes(live: Live | undefined): void {
  const news = live ? notesOf(live) : {};
  if (Object.keys(news).length === 0) return;
  // Another tab may have notes of other runs.
  const all = Object.entries({ ...readStored<Notes>(NOTES, {}), ...getState().notes, ...news });
  const notes = Object.fromEntries(all.slice(-MOST_NOTED));
  setState({ notes });
  writeStored(NOTES, notes);
}

/** After a run its turns are read from the log and replace what was shown live. */
async function settleRun(sessionId: string): Promise<void> {
  answered(sessionId);
  keepNotes(getState().conversations[sessionId]?.live);
  await loadConversation(sessionId);
}

/** Called when an answer ends. The server marked its session as unread; a visible one is marked as read. */
export function answered(sessionId: string): void {
  if (isLookedAt(sessionId)) markRead(sessionId);
  else tellEnded(sessionId);
}

const isLookedAt = (sessionId: string) => getState().shown === sessionId && !document.hidden;

/** Marks the visible session as read on every device. */
export function lookAtShown(): void {
  const { shown, sessions } = getState();
  if (shown !== undefined && sessions[shown]?.unread && isLookedAt(shown)) markRead(shown);
}

function markRead(sessionId: string): void {
  patchSession(sessionId, { unread: false });
  // Without a connection the session stays unread until it is shown again.
  onyx.sessions.markRead(sessionId).catch(() => undefined);
}

document.addEventListener('visibilitychange', lookAtShown);

/** Listeners for the server's notices, by topic. */
const watchers = new Map<string, Set<() => void>>();

export function watch(topic: string, changed: () => void): () => void {
  const all = watchers.get(topic) ?? new Set();
  watchers.set(topic, all.add(changed));
  return () => void all.delete(changed);
}

function onChange(change: ChangeEvent): void {
  for (const changed of watchers.get(change.topic) ?? []) changed();
  if (change.topic === 'drafts') return void (change.draftId ? refreshDraft(change.draftId) : refreshDrafts());
  if (change.topic === 'member_drafts') return void refreshMemberDrafts();
  if (change.topic === 'jobs') {
    if (change.message) tellJob(change.message);
    return;
  }
  if (change.topic === 'agents' || change.topic === 'config') return void refreshStatus();
  if (change.topic !== 'sessions') return;
  const { sessionId, runId } = change;
  if (sessionId === undefined) return void refresh();
  switch (change.change) {
    case 'removed':
      return forgetSession(sessionId);
    case 'run_started':
      patchSession(sessionId, { runId: runId ?? null });
      // Another tab or device started the run; a conversation open here shows it.
      if (runId && getState().conversations[sessionId]?.phase === 'ready') {
        const known = getState().conversations[sessionId]?.live;
        if (known?.runId !== runId) void loadConversation(sessionId);
      }
      // A new session is stored a moment after its run started.
      if (!getState().sessions[sessionId]) setTimeout(() => void refreshSession(sessionId), NEW_SESSION_MS);
      return;
    case 'run_ended':
      patchSession(sessionId, { runId: null });
      // A run that is shown live is marked as read after its last event.
      if (getState().conversations[sessionId]?.live) return void refreshSession(sessionId);
      return void refreshSession(sessionId).then(() => answered(sessionId));
    default:
      return void refreshSession(sessionId);
  }
}

/** Forgets a deleted session; lists that still contain it hide it. */
export function forgetSession(id: string): void {
  void forgetChat(id);
  setState(({ sessions: { [id]: _, ...sessions }, removed }) => ({ sessions, removed: new Set(removed).add(id) }));
}

function patchSession(id: string, change: Partial<Session>): void {
  setState((state) => {
    const known = state.sessions[id];
    return known ? { sessions: { ...state.sessions, [id]: { ...known, ...change } } } : state;
  });
}

export async function refreshSession(id: string): Promise<void> {
  try {
    const { session, queued } = await socket.session(id, { limit: 1 });
    setState((state) => ({ sessions: { ...state.sessions, [id]: session } }));
    // Another device may have discarded one.
    if (getState().conversations[id]) changeConversation(id, (known) => ({ ...known, queued }));
  } catch {
    // The session or the connection is gone; both are shown elsewhere.
  }
}
