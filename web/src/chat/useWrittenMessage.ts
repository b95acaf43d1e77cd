import { useEffect, useState } from 'react';
import type { UserContent } from '@onyx/sdk';
import { stop } from '../store/actions';
import { readStored, writeStored } from '../store/browserStorage';
import { useAttachments } from './useAttachments';

export type WrittenMessage = ReturnType<typeof useWrittenMessage>;

/** Where a message is written, and what takes it. */
export interface Writing {
  /** The key under which unsent text is kept. */
  draftKey: string;
  /** Files that are attached when the composer opens. */
  files?: File[];
  sessionId?: string;
  onSend: (content: UserContent, model?: string) => void;
  /** Stops the running answer, where the page stops it differently from a chat. */
  onStop?: () => void;
}

/** The message that is being written: its text, attachments and model, and how it is sent. */
export function useWrittenMessage({ draftKey, files, sessionId, onSend, onStop }: Writing) {
  const kept = `onyx.draft.${draftKey}`;
  const [text, setText] = useState(() => readStored(kept, ''));
  const [model, setModel] = useState<string>();
  useEffect(() => writeStored(kept, text === '' ? undefined : text), [kept, text]);
  const attachments = useAttachments(files);
  const empty = text.trim() === '' && attachments.empty;
  const halt = () => (onStop ? onStop() : sessionId && void stop(sessionId));
  const send = async () => {
    const said = text.trim();
    if (said === '/stop' && sessionId) {
      halt();
      return setText('');
    }
    if (empty || attachments.storing) return;
    const parts = await attachments.stored();
    if (!parts) return;
    onSend(parts.length > 0 ? [{ type: 'text', text: said }, ...parts] : said, model);
    setText('');
    attachments.clear();
  };
  return { text, setText, model, setModel, attachments, empty, halt, send };
}
