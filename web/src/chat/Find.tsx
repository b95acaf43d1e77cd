import { useEffect, useMemo, useState } from 'react';
import { ChevronDown, ChevronUp, X } from 'lucide-react';
import { loadAllOlder } from '../store/client';
import { answerText, textOf, type Message } from '../store/messages';
import { useStore } from '../store/state';
import { useMessages } from './useMessages';

const wordsOf = (message: Message) => {
  if (message.kind === 'words') return textOf(message.content);
  return message.kind === 'answer' ? answerText(message) : message.text;
};

/** Searches the whole chat, including turns that are not loaded yet, from the newest hit to the oldest. */
export function Find({
  sessionId,
  onFound,
  onClose,
}: {
  sessionId: string;
  onFound: (index?: number) => void;
  onClose: () => void;
}) {
  const messages = useMessages(sessionId);
  const partial = useStore((state) => state.conversations[sessionId]?.before !== undefined);
  const online = useStore((state) => state.link === 'online');
  const [query, setQuery] = useState('');
  // Remembered by id, because indexes change while older turns are loaded.
  const [chosen, setChosen] = useState<string>();
  const hits = useMemo(() => {
    const wanted = query.trim().toLowerCase();
    if (wanted.length < 2) return [];
    return messages.flatMap((message, index) => (wordsOf(message).toLowerCase().includes(wanted) ? [index] : []));
  }, [messages, query]);
  const current = hits.find((index) => messages[index]?.id === chosen) ?? hits.at(-1);
  const step = (by: 1 | -1) => {
    const next = hits[(hits.indexOf(current ?? 0) + by + hits.length) % hits.length];
    if (next !== undefined) setChosen(messages[next]?.id);
  };
  useEffect(() => {
    let looking = online;
    // Turns that cannot be loaded now are loaded when the connection is back; until then the `…` stays.
    loadAllOlder(sessionId, () => looking).catch(() => undefined);
    return () => {
      looking = false;
    };
  }, [sessionId, online]);
  useEffect(() => onFound(current), [current, onFound]);
  useEffect(() => marking(query.trim()), [query]);
  return (
    <div role="search" className="flex items-center gap-1 border-b border-line bg-surface px-4 py-1.5 md:px-6">
      <input
        autoFocus
        aria-label="Find in this chat"
        placeholder="Find in this chat"
        className="field max-w-80"
        value={query}
        onChange={(event) => (setQuery(event.target.value), setChosen(undefined))}
        onKeyDown={(event) => {
          if (event.key === 'Enter') step(event.shiftKey ? 1 : -1);
          if (event.key === 'Escape') onClose();
        }}
      />
      <span
        className="meta min-w-14 text-center tabular-nums"
        role="status"
        title={partial ? 'Older turns are still being read' : undefined}
      >
        {query.trim().length < 2
          ? ''
          : `${current === undefined ? 0 : hits.indexOf(current) + 1}/${hits.length}${partial ? '…' : ''}`}
      </span>
      <button type="button" className="icon-btn" aria-label="Previous" onClick={() => step(-1)}>
        <ChevronUp size={16} aria-hidden />
      </button>
      <button type="button" className="icon-btn" aria-label="Next" onClick={() => step(1)}>
        <ChevronDown size={16} aria-hidden />
      </button>
      <span className="flex-1" />
      <button type="button" className="icon-btn" aria-label="Close" onClick={onClose}>
        <X size={16} aria-hidden />
      </button>
    </div>
  );
}

/** Highlights the hits with the browser's own highlights, also in turns that are drawn later. */
function marking(query: string): () => void {
  const log = document.querySelector('[role=log]');
  if (!CSS.highlights || !log || query.length < 2) return () => undefined;
  mark(log, query.toLowerCase());
  const observer = new MutationObserver(() => mark(log, query.toLowerCase()));
  observer.observe(log, { subtree: true, childList: true, characterData: true, attributeFilter: ['data-found'] });
  return () => {
    observer.disconnect();
    CSS.highlights.delete('found');
    CSS.highlights.delete('found-current');
  };
}

function mark(log: Element, query: string): void {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(log, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.textContent?.toLowerCase() ?? '';
    for (let from = text.indexOf(query); from >= 0; from = text.indexOf(query, from + query.length)) {
      const range = new Range();
      range.setStart(node, from);
      range.setEnd(node, from + query.length);
      ranges.push(range);
    }
  }
  CSS.highlights.set('found', new Highlight(...ranges));
  // The current hit has its own highlight.
  const current = log.querySelector('[data-found]');
  const first = ranges.find((range) => current?.contains(range.startContainer));
  const shown = new Highlight(...(first ? [first] : []));
  shown.priority = 1;
  CSS.highlights.set('found-current', shown);
}
