// Recent chats for reading offline. This browser stores a few of them, shortened, for the credential that read them.
// They are deleted when the person signs out, another person signs in, or the server no longer accepts the credential.

import type { Session, Turn } from '@onyx/sdk';
import { useStore } from './state';

const DATABASE = 'onyx-offline';
const CHATS = 'chats';
const MOST_CHATS = 20;
const MOST_TURNS = 100;
/** Characters of one chat. */
const LARGEST = 400_000;

interface KeptChat {
  id: string;
  /** The hash of the credential that read the chat. */
  owner: string;
  at: number;
  session: Session;
  turns: Turn[];
}

let credential: () => string | undefined = () => undefined;

/** Sets the function that names the current credential. */
export function keepOfflineFor(current: () => string | undefined): void {
  credential = current;
}

async function owner(): Promise<string | undefined> {
  const secret = credential();
  if (!secret || !globalThis.crypto?.subtle) return undefined;
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(`onyx offline ${secret}`));
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

const done = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('The browser offers no storage.'));
  });

async function chats(mode: IDBTransactionMode): Promise<IDBObjectStore> {
  const opening = indexedDB.open(DATABASE, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(CHATS, { keyPath: 'id' });
  const database = await done(opening);
  const transaction = database.transaction(CHATS, mode);
  // An open connection would block the deletion.
  transaction.oncomplete = () => database.close();
  transaction.onabort = () => database.close();
  return transaction.objectStore(CHATS);
}

/** The newest turns that fit. */
function shortened(turns: Turn[]): Turn[] {
  let kept = turns.slice(-MOST_TURNS);
  while (kept.length > 1 && JSON.stringify(kept).length > LARGEST) kept = kept.slice(Math.ceil(kept.length / 2));
  return kept;
}

/** Stores a chat that was read and deletes the oldest beyond the bound; without storage only offline reading fails. */
export async function keepChat(session: Session, turns: Turn[]): Promise<void> {
  try {
    const mine = await owner();
    // A temporary chat is not stored here either.
    if (!mine || turns.length === 0 || (session as { temporary?: boolean }).temporary) return;
    const kept: KeptChat = { id: session.id, owner: mine, at: Date.now(), session, turns: shortened(turns) };
    await done((await chats('readwrite')).put(kept));
    const all = await done<KeptChat[]>((await chats('readonly')).getAll());
    const strangers = all.filter((chat) => chat.owner !== mine);
    const old = all
      .filter((chat) => chat.owner === mine)
      .sort((a, b) => b.at - a.at)
      .slice(MOST_CHATS);
    for (const chat of [...strangers, ...old]) await forgetChat(chat.id);
  } catch {
    // Private windows and full disks: the chat is read from the server again.
  }
}

export async function forgetChat(id: string): Promise<void> {
  try {
    await done((await chats('readwrite')).delete(id));
  } catch {
    // A browser without storage keeps nothing.
  }
}

export async function forgetAllChats(): Promise<void> {
  try {
    await done(indexedDB.deleteDatabase(DATABASE));
  } catch {
    // A browser without storage keeps nothing.
  }
}

/** Shows the stored chats while there is no connection. The server's answer replaces them. */
export async function showKeptChats(): Promise<void> {
  try {
    const mine = await owner();
    if (!mine) return;
    const all = await done<KeptChat[]>((await chats('readonly')).getAll());
    const own = all.filter((chat) => chat.owner === mine);
    if (own.length === 0 || useStore.getState().link === 'online') return;
    useStore.setState((state) => {
      const sessions = Object.fromEntries(own.map(({ id, session }) => [id, { ...session, runId: null }]));
      const read = own.filter(({ id }) => (state.conversations[id]?.turns.length ?? 0) === 0);
      const conversations = Object.fromEntries(
        read.map(({ id, turns }) => [id, { turns, phase: 'ready' as const, kept: true as const }]),
      );
      return {
        sessionsPhase: 'ready',
        sessions: { ...sessions, ...state.sessions },
        conversations: { ...state.conversations, ...conversations },
      };
    });
  } catch {
    // A browser without storage keeps nothing.
  }
}
