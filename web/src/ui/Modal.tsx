import { useEffect, useRef, useState, type ReactNode } from 'react';

/** The elements that should take the focus first. */
const FIELD = 'input:not([type=hidden]):not([disabled]), textarea:not([disabled]), select:not([disabled])';

/** The browser's own dialog: it keeps the focus inside, closes on Esc and leaves the rest inert. */
export function Modal({
  label,
  onClose,
  children,
  className = '',
}: {
  label: string;
  onClose: () => void;
  children: ReactNode;
  className?: string;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (!element) return;
    if (!element.open) element.showModal();
    // The browser focuses the first element that can hold the focus, which may be a frame around the field, and React's
    // own autoFocus runs before the dialog is shown, when nothing in it can take the focus.
    const first = element.querySelector<HTMLElement>('[data-first-focus]') ?? element.querySelector<HTMLElement>(FIELD);
    first?.focus();
    return () => element.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-label={label}
      onCancel={(event) => (event.preventDefault(), onClose())}
      onClick={(event) => event.target === dialog.current && onClose()}
      className={`rise fixed top-[12vh] left-1/2 w-[min(600px,calc(100vw-24px))] -translate-x-1/2 rounded-lg border border-line bg-surface shadow-over ${className}`}
    >
      {children}
    </dialog>
  );
}

/** A narrow dialog with a title, for a short form. */
export function Sheet({ title, close, children }: { title: string; close: () => void; children: ReactNode }) {
  return (
    <Modal label={title} onClose={close} className="max-w-105">
      <div className="p-5">
        <h2 className="mb-3 font-semibold">{title}</h2>
        {children}
      </div>
    </Modal>
  );
}

export function Confirm({
  question,
  detail,
  action,
  onAnswer,
}: {
  question: string;
  detail?: string;
  action: string;
  onAnswer: (yes: boolean) => void;
}) {
  return (
    <Modal label={question} onClose={() => onAnswer(false)} className="max-w-105">
      <div className="p-5">
        <h2 className="mb-1 font-semibold">{question}</h2>
        {detail && <p className="meta">{detail}</p>}
        <div className="mt-4 flex justify-end gap-2">
          <button type="button" className="btn" onClick={() => onAnswer(false)}>
            Cancel
          </button>
          <button type="button" className="btn btn-danger" data-first-focus onClick={() => onAnswer(true)}>
            {action}
          </button>
        </div>
      </div>
    </Modal>
  );
}

/** Asks for one line of text; `undefined` if the person cancels. */
export function Ask({
  label,
  value,
  action,
  onAnswer,
}: {
  label: string;
  value: string;
  action: string;
  onAnswer: (text?: string) => void;
}) {
  const [text, setText] = useState(value);
  return (
    <Modal label={label} onClose={() => onAnswer()} className="max-w-105">
      <form className="p-5" onSubmit={(event) => (event.preventDefault(), onAnswer(text.trim() || undefined))}>
        <label className="font-semibold">
          {label}
          <input
            data-first-focus
            className="field mt-2 font-normal"
            value={text}
            maxLength={200}
            onChange={(event) => setText(event.target.value)}
            onFocus={(event) => event.target.select()}
          />
        </label>
        <div className="mt-4 flex justify-end gap-2">
          <button type="button" className="btn" onClick={() => onAnswer()}>
            Cancel
          </button>
          <button type="submit" className="btn btn-primary" disabled={text.trim() === ''}>
            {action}
          </button>
        </div>
      </form>
    </Modal>
  );
}
