// `@name` in a message: the names offered while typing. The server decides which agents a message calls. Pure.

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
