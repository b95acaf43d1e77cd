import {
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
} from 'react';
import { hueOf } from '../ui/hue';
import { completed, openMention, suggested, type Named } from './mentions';

interface Offered {
  list: ReactNode;
  /** Returns true when the key chose an entry or closed the list, so the text must not receive it. */
  onKeyDown: (event: KeyboardEvent) => boolean;
  /** Receives the position of the caret. */
  onCaret: () => void;
  /** The ARIA attributes that connect the text field with the list. */
  field: { 'aria-autocomplete'?: 'list'; 'aria-controls'?: string; 'aria-activedescendant'?: string };
}

/** Offers names while the person types after `@`: arrows move, Enter and Tab choose, Esc closes. */
export function useMentions(
  area: RefObject<HTMLTextAreaElement | null>,
  text: string,
  setText: (text: string) => void,
  agents: Named[] | undefined,
): Offered {
  const id = useId();
  const [caret, setCaret] = useState(0);
  const [at, setAt] = useState(0);
  const [closedAt, setClosedAt] = useState<number>();
  const placed = useRef<number>(undefined);
  const open = agents && openMention(text, Math.min(caret, text.length));
  const found = open && open.from !== closedAt ? suggested(open.query, agents) : [];
  // A closed list stays closed only while the same name is being typed.
  useEffect(() => setClosedAt((closed) => (closed === open?.from ? closed : undefined)), [open?.from]);
  const current = found[Math.min(at, found.length - 1)];
  const choose = (agent: Named) => {
    if (!open) return;
    const next = completed(text, Math.min(caret, text.length), open.from, agent);
    setText(next.text);
    setCaret(next.caret);
    setAt(0);
    placed.current = next.caret;
  };
  // The caret is placed once the text is set, and before the next key is typed.
  useLayoutEffect(() => {
    if (placed.current === undefined) return;
    area.current?.setSelectionRange(placed.current, placed.current);
    placed.current = undefined;
  });
  const onKeyDown = (event: KeyboardEvent): boolean => {
    if (!current || event.nativeEvent.isComposing) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((Math.min(at, found.length - 1) + step + found.length) % found.length);
    else if ((event.key === 'Enter' && !event.shiftKey) || event.key === 'Tab') choose(current);
    else if (event.key === 'Escape') setClosedAt(open?.from);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  const onCaret = () => {
    const place = area.current?.selectionStart ?? 0;
    setCaret(place);
    if (place !== caret) setAt(0);
  };
  if (!agents) return { list: null, onKeyDown: () => false, onCaret: () => undefined, field: {} };
  const list = current && (
    <ul
      id={id}
      role="listbox"
      aria-label="Coworkers"
      className="menu absolute bottom-full left-0 z-30 mb-1.5 max-h-60 max-w-full overflow-auto"
    >
      {found.map((agent) => (
        <li
          key={agent.id}
          id={`${id}-${agent.id}`}
          role="option"
          aria-selected={agent === current}
          className="menu-item"
          // The text keeps the focus.
          onPointerDown={(event) => (event.preventDefault(), choose(agent))}
        >
          <span className="hue" style={{ background: hueOf(agent.id) }} aria-hidden />
          <span className="min-w-0 truncate">{agent.name}</span>
        </li>
      ))}
    </ul>
  );
  return {
    list,
    onKeyDown,
    onCaret,
    field: {
      'aria-autocomplete': 'list',
      'aria-controls': current && id,
      'aria-activedescendant': current && `${id}-${current.id}`,
    },
  };
}
