// Finds which of the person's messages the server already has. Pure.

import type { CompanionMessage } from '@onyx/sdk';
import { textOf } from './messages';
import type { Pending } from './state';

/** The stored message with this text, if the server has it, and whether it was answered. */
export function keptOf(
  messages: CompanionMessage[],
  item: Pick<Pending, 'turnId' | 'content' | 'companion'>,
): { id: string; isAnswered: boolean } | undefined {
  const isIt = ({ role, id, content }: CompanionMessage) => {
    if (role !== 'user') return false;
    // Ids are ordered by time, so an earlier message with the same text is another one.
    return item.turnId === undefined
      ? content === textOf(item.content) && id > (item.companion?.seen ?? '')
      : id === item.turnId;
  };
  const at = messages.findIndex(isIt);
  const found = messages[at];
  return found && { id: found.id, isAnswered: messages[at + 1]?.role === 'assistant' };
}

/** The person's last messages that are not in the log yet. */
export function unanswered(messages: CompanionMessage[], known: Set<string>): CompanionMessage[] {
  const last = messages.findLastIndex((message) => message.role === 'assistant');
  return messages.slice(last + 1).filter((message) => message.role === 'user' && !known.has(message.id));
}
