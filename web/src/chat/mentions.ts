// `@name` in a message: the agents it calls, and the names offered while typing. Pure.

export interface Named {
  id: string;
  name: string;
}

/** How a message names an agent: its name as one word. */
export const callOf = ({ name }: Named) => `@${name.trim().replace(/\s+/g, '-')}`;

const JOINS = /[\p{L}\p{N}_-]/u;

/** The name being typed before the caret, and the position of its `@`. */
export function openMention(text: string, caret: number): { from: number; query: string } | undefined {
  const match = /@([\p{L}\p{N}_.-]*)$/u.exec(text.slice(0, caret));
  if (!match) return undefined;
  const before = text[match.index - 1];
  // An `@` inside an e-mail address calls no agent.
  if (before !== undefined && (JOINS.test(before) || before === '.')) return undefined;
  return { from: match.index, query: match[1] ?? '' };
}

/** The agents whose name or id matches the typed text; names that begin with it come first. */
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

/** The position of `@call` as a separate word; the server parses it in the same way. */
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

/** The agents that answer this message: those it calls, in that order, otherwise the usual one. */
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
