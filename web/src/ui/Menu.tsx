import { useEffect, useId, useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { createPortal } from 'react-dom';

export interface MenuEntry {
  label: string;
  detail?: string;
  icon?: ReactNode;
  tone?: 'danger';
  checked?: boolean;
  run: () => void;
}

/** A button with a menu: arrows move, Enter chooses, Esc and a click elsewhere close. */
export function Menu({
  label,
  className,
  children,
  entries,
  side = 'below',
  onOpen,
}: {
  label: string;
  className: string;
  children: ReactNode;
  entries: MenuEntry[];
  side?: 'below' | 'above';
  /** Loads further entries when the menu opens. */
  onOpen?: () => void;
}) {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        className={className}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        aria-label={typeof children === 'string' ? `${label}: ${children}` : label}
        title={label}
        onClick={(event) => {
          event.preventDefault();
          event.stopPropagation();
          if (!open) onOpen?.();
          setOpen(!open);
        }}
      >
        {children}
      </button>
      {open &&
        createPortal(
          <Sheet id={id} label={label} anchor={button.current} side={side} entries={entries} close={close} />,
          document.body,
        )}
    </>
  );
}

function Sheet({
  id,
  label,
  anchor,
  side,
  entries,
  close,
}: {
  id: string;
  label: string;
  anchor: HTMLElement | null;
  side: 'below' | 'above';
  entries: MenuEntry[];
  close: () => void;
}) {
  const sheet = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = sheet.current;
    if (!element || !anchor) return;
    const box = anchor.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = element;
    const above = side === 'above' ? box.top > height + 16 : box.bottom + height + 16 > innerHeight && box.top > height;
    element.style.top = `${above ? box.top - height - 6 : box.bottom + 6}px`;
    element.style.left = `${Math.max(8, Math.min(box.left, innerWidth - width - 8))}px`;
    (
      element.querySelector<HTMLElement>('[aria-checked=true]') ?? element.querySelector<HTMLElement>('button')
    )?.focus();
  }, [anchor, side]);
  useEffect(() => {
    const outside = (event: Event) => {
      if (!sheet.current?.contains(event.target as Node) && !anchor?.contains(event.target as Node)) close();
    };
    document.addEventListener('pointerdown', outside);
    return () => document.removeEventListener('pointerdown', outside);
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...(sheet.current?.querySelectorAll('button') ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      buttons.at(to % buttons.length)?.focus();
    } else if (event.key === 'Escape' || event.key === 'Tab') {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  };
  return (
    <div
      ref={sheet}
      id={id}
      role="menu"
      aria-label={label}
      className="menu rise fixed max-h-80 overflow-auto"
      onKeyDown={onKeyDown}
    >
      {entries.map((entry) => (
        <button
          key={`${entry.label} ${entry.detail ?? ''}`}
          type="button"
          role={entry.checked === undefined ? 'menuitem' : 'menuitemradio'}
          aria-checked={entry.checked}
          className={`menu-item ${entry.tone === 'danger' ? 'text-danger' : ''}`}
          onClick={() => (close(), entry.run())}
        >
          {entry.icon}
          <span className="min-w-0 flex-1">
            {entry.label}
            {entry.detail && <span className="block text-tiny text-dim">{entry.detail}</span>}
          </span>
          {entry.checked && <span aria-hidden>✓</span>}
        </button>
      ))}
    </div>
  );
}
