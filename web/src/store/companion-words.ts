// Which words the server keeps already. Pure.

import type { CompanionMessage } from '@onyx/sdk';
import { textOf } from './messages';
import type { Pending } from './state';

/** The message that these words are, if the server has them, and whether somebody has answered. */
export function keptOf(
  messages: CompanionMessage[],
  item: Pick<Pending, 'turnId' | 'content' | 'companion'>,
): { id: string; isAnswered: boolean } | undefined {
  const isIt = ({ role, id, content }: CompanionMessage) => {
    if (role !== 'user') return false;
    // Ids are in the order of time: the same words said before are others.
    return item.turnId === undefined
      ? content === textOf(item.content) && id > (item.companion?.seen ?? '')
      : id === item.turnId;
  };
  const at = messages.findIndex(isIt);
  const found = messages[at];
  return found && { id: found.id, isAnswered: messages[at + 1]?.role === 'assistant' };
}

/** The person's messages at the end that are in nobody's log. */
export function unanswered(messages: CompanionMessage[], known: Set<string>): CompanionMessage[] {
  const last = messages.findLastIndex((message) => message.role === 'assistant');
  return messages.slice(last + 1).filter((message) => message.role === 'user' && !known.has(message.id));
}
