import { useEffect, useMemo, useState } from 'react';
import { ChevronDown, ChevronUp, X } from 'lucide-react';
import { answerText, textOf, type Message } from '../store/messages';
import { useMessages } from './useMessages';

const wordsOf = (message: Message) => {
  if (message.kind === 'words') return textOf(message.content);
  return message.kind === 'answer' ? answerText(message) : message.text;
};

/** Finds in all of a chat, also in what is not on the page. */
export function Find({ sessionId, onFound, onClose }: { sessionId: string; onFound: (index?: number) => void; onClose: () => void }) {
  const messages = useMessages(sessionId);
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const hits = useMemo(() => {
    const wanted = query.trim().toLowerCase();
    if (wanted.length < 2) return [];
    return messages.flatMap((message, index) => (wordsOf(message).toLowerCase().includes(wanted) ? [index] : []));
  }, [messages, query]);
  const current = hits.length === 0 ? undefined : hits[((at % hits.length) + hits.length) % hits.length];
  useEffect(() => onFound(current), [current, onFound]);
  useEffect(() => mark(query.trim()), [query, current, messages]);
  useEffect(() => () => void CSS.highlights?.delete('found'), []);
  return (
    <div role="search" className="flex items-center gap-1 border-b border-line bg-surface px-4 py-1.5 md:px-6">
      <input
        autoFocus
        aria-label="Find in this chat"
        placeholder="Find in this chat"
        className="field max-w-80"
        value={query}
        onChange={(event) => (setQuery(event.target.value), setAt(0))}
        onKeyDown={(event) => {
          if (event.key === 'Enter') setAt(at + (event.shiftKey ? -1 : 1));
          if (event.key === 'Escape') onClose();
        }}
      />
      <span className="meta min-w-14 text-center tabular-nums" role="status">
        {query.trim().length < 2 ? '' : `${current === undefined ? 0 : hits.indexOf(current) + 1}/${hits.length}`}
      </span>
      <button type="button" className="icon-btn" aria-label="Previous" onClick={() => setAt(at - 1)}>
        <ChevronUp size={16} aria-hidden />
      </button>
      <button type="button" className="icon-btn" aria-label="Next" onClick={() => setAt(at + 1)}>
        <ChevronDown size={16} aria-hidden />
      </button>
      <span className="flex-1" />
      <button type="button" className="icon-btn" aria-label="Close" onClick={onClose}>
        <X size={16} aria-hidden />
      </button>
    </div>
  );
}

/** Marks the words where the browser can, without touching the page's nodes. */
function mark(query: string): void {
  if (!CSS.highlights) return;
  const log = document.querySelector('[role=log]');
  if (!log || query.length < 2) return void CSS.highlights.delete('found');
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(log, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.textContent?.toLowerCase() ?? '';
    for (let from = text.indexOf(query.toLowerCase()); from >= 0; from = text.indexOf(query.toLowerCase(), from + query.length)) {
      const range = new Range();
      range.setStart(node, from);
      range.setEnd(node, from + query.length);
      ranges.push(range);
    }
  }
  CSS.highlights.set('found', new Highlight(...ranges));
}
