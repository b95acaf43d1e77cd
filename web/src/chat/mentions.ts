// `@name` in a message: who is called, and what is offered while a name is being written. Pure.

export interface Named {
  id: string;
  name: string;
}

/** What stands in the text for an agent: its name in one word. */
export const callOf = ({ name }: Named) => `@${name.trim().replace(/\s+/g, '-')}`;

const JOINS = /[\p{L}\p{N}_-]/u;

/** The name that is being written before the caret, and where its `@` stands. */
export function openMention(text: string, caret: number): { from: number; query: string } | undefined {
  const match = /@([\p{L}\p{N}_.-]*)$/u.exec(text.slice(0, caret));
  if (!match) return undefined;
  const before = text[match.index - 1];
  // In an address it is no call.
  if (before !== undefined && (JOINS.test(before) || before === '.')) return undefined;
  return { from: match.index, query: match[1] ?? '' };
}

/** Those whose name or id goes with what was written, names that begin with it first. */
export function suggested(query: string, agents: Named[]): Named[] {
  const wanted = query.toLowerCase();
  const rank = ({ id, name }: Named) => {
    const call = name.toLowerCase().replace(/\s+/g, '-');
    if (call.startsWith(wanted) || id.toLowerCase().startsWith(wanted)) return 0;
    return call.split('-').some((word) => word.startsWith(wanted)) ? 1 : 2;
  };
  return agents.filter((agent) => rank(agent) < 2).sort((a, b) => rank(a) - rank(b));
}

export function completed(text: string, caret: number, from: number, agent: Named): { text: string; caret: number } {
  const rest = text.slice(caret);
  const call = `${callOf(agent)}${rest.startsWith(' ') ? '' : ' '}`;
  return { text: text.slice(0, from) + call + rest, caret: from + call.length + (rest.startsWith(' ') ? 1 : 0) };
}

/** Where `@call` stands as a word of its own; the server reads it in the same way. */
function calledAt(text: string, call: string): number {
  const sought = `@${call}`;
  for (let at = text.indexOf(sought); at >= 0; at = text.indexOf(sought, at + 1)) {
    const before = text[at - 1] ?? '';
    const [next = '', after = ''] = text.slice(at + sought.length, at + sought.length + 2);
    const isAddress = next === '.' && /[\p{L}\p{N}]/u.test(after);
    if (!JOINS.test(before) && before !== '.' && !JOINS.test(next) && !isAddress) return at;
  }
  return -1;
}

/** Who answers this message: those it calls, in the order it does, else the usual one. */
export function answering<T extends Named>(text: string, coworkers: T[], usual: T | undefined): T[] {
  const lower = text.toLowerCase();
  const called = coworkers.flatMap((agent) => {
    const name = agent.name.toLowerCase();
    const found = [agent.id, name.replaceAll(' ', '-'), name].filter(Boolean).map((call) => calledAt(lower, call));
    const at = Math.min(...found.filter((place) => place >= 0));
    return Number.isFinite(at) ? [{ at, agent }] : [];
  });
  if (called.length > 0) return called.sort((a, b) => a.at - b.at).map(({ agent }) => agent);
  return usual ? [usual] : [];
}
