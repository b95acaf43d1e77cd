import { useId, useState, type ComponentProps, type FormEvent, type KeyboardEvent, type ReactNode } from 'react';
import type { Fault } from '@onyx/sdk';
import { faultOf } from '../store/client';
import { ErrorLine } from './page';
import { Words } from './words';

/** A row of a card: a label with details, and its controls. */
export function Line({ label, detail, children }: { label: ReactNode; detail?: ReactNode; children?: ReactNode }) {
  return (
    <div className="flex min-h-12 flex-wrap items-center gap-x-4 gap-y-2 px-4 py-2.5">
      <div className="min-w-0 flex-1 basis-52 [overflow-wrap:anywhere]">
        {label}
        {detail && <div className="meta">{detail}</div>}
      </div>
      {children && <div className="flex flex-wrap items-center gap-2">{children}</div>}
    </div>
  );
}

export function Section({
  title,
  detail,
  action,
  children,
}: {
  title: string;
  detail?: ReactNode;
  action?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className="mb-8" aria-label={title}>
      <div className="mb-2 flex min-h-8 flex-wrap items-end gap-x-3 gap-y-2">
        <div className="min-w-0 flex-1 basis-56 [overflow-wrap:anywhere]">
          <h2 className="font-semibold">{title}</h2>
          {detail && <p className="meta">{detail}</p>}
        </div>
        {action}
      </div>
      {children}
    </section>
  );
}

export const Card = ({ children }: { children: ReactNode }) => (
  <div className="card divide-y divide-line">{children}</div>
);

const ARROWS: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export function Choices<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: T;
  options: [T, string][];
  onChange: (value: T) => void;
}) {
  const stop = Math.max(
    0,
    options.findIndex(([option]) => option === value),
  );
  // The group is one tab stop; arrows choose, as in every radio group.
  const choose = (event: KeyboardEvent<HTMLButtonElement>, place: number) => {
    const step = ARROWS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = (place + step + options.length) % options.length;
    const button = event.currentTarget.parentElement?.children[next];
    if (options[next]) onChange(options[next][0]);
    if (button instanceof HTMLElement) button.focus();
  };
  return (
    <div role="radiogroup" aria-label={label} className="flex flex-wrap overflow-hidden rounded-sm border border-line">
      {options.map(([option, text], place) => (
        <button
          key={option}
          type="button"
          role="radio"
          aria-checked={value === option}
          tabIndex={place === stop ? 0 : -1}
          className={`h-8 px-3 text-[14px] whitespace-nowrap max-md:h-11 ${value === option ? 'bg-accent-soft text-accent' : 'text-dim hover:bg-sunken'}`}
          onClick={() => onChange(option)}
          onKeyDown={(event) => choose(event, place)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

export function Switch({
  label,
  on,
  disabled,
  onChange,
}: {
  label: string;
  on: boolean;
  disabled?: boolean;
  onChange: (on: boolean) => void;
}) {
  return (
    <button
      type="button"
      role="switch"
      aria-checked={on}
      aria-label={label}
      title={label}
      disabled={disabled}
      className="switch"
      onClick={() => onChange(!on)}
    >
      <span aria-hidden />
    </button>
  );
}

export function Select({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: [string, string][];
  onChange: (value: string) => void;
}) {
  return (
    <select
      aria-label={label}
      className="field w-auto max-w-44 truncate pr-8 max-sm:min-w-0 max-sm:flex-1 max-sm:pr-1 max-sm:pl-2.5"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {options.map(([id, name]) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}

export function Field({ label, hint, ...input }: { label: string; hint?: ReactNode } & ComponentProps<'input'>) {
  const id = useId();
  return (
    <div className="meta">
      <label htmlFor={id}>{label}</label>
      <input id={id} className="field mt-1 text-text" aria-describedby={hint ? `${id}-hint` : undefined} {...input} />
      {hint && (
        <span id={`${id}-hint`} className="mt-1 block text-tiny">
          {typeof hint === 'string' ? <Words>{hint}</Words> : hint}
        </span>
      )}
    </div>
  );
}

/** A form that shows an error at its button and keeps the entered values. */
export function Form({
  action,
  onSubmit,
  onCancel,
  children,
}: {
  action: string;
  onSubmit: (fields: (name: string) => string) => Promise<unknown>;
  onCancel?: () => void;
  children: ReactNode;
}) {
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<Fault>();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    setBusy(true);
    setFault(undefined);
    try {
      await onSubmit((name) => String(data.get(name) ?? '').trim());
    } catch (error) {
      setFault(faultOf(error));
    }
    setBusy(false);
  };
  return (
    <form className="flex flex-col gap-3" onSubmit={(event) => void submit(event)}>
      {children}
      {fault && <ErrorLine fault={fault} />}
      <div className="flex justify-end gap-2">
        {onCancel && (
          <button type="button" className="btn" onClick={onCancel}>
            Cancel
          </button>
        )}
        <button type="submit" className="btn btn-primary" disabled={busy}>
          {action}
        </button>
      </div>
    </form>
  );
}
