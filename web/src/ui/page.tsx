import type { ReactNode } from 'react';
import type { Fault } from '@onyx/sdk';
import { AlertCircle } from 'lucide-react';
import { useStore } from '../store/state';
import { Header } from '../shell/Header';
import { copy } from './copy';
import { wordsOf } from './faults';
import type { Loaded } from './useLoaded';

/** A page of one column under its header. */
export function Page({
  title,
  back,
  bar,
  width = 'max-w-[880px]',
  children,
}: {
  title: string;
  /** The address of the back button. */
  back?: string;
  bar?: ReactNode;
  width?: string;
  children: ReactNode;
}) {
  return (
    <>
      <Header title={title} back={back}>
        {bar}
      </Header>
      <div className="flex-1 overflow-y-auto px-4 py-4 md:px-6 md:py-6">
        <div className={`mx-auto ${width}`}>{children}</div>
      </div>
    </>
  );
}

export const FAULT_ACTION = 'inline-flex items-center text-accent underline underline-offset-3 max-md:min-h-11';

/** What failed, what to do, one action, and details for a report. */
export function ErrorLine({
  fault,
  sentence: said,
  action,
  children,
}: {
  fault: Fault;
  /** Shown instead of the usual sentence, unless it is empty. */
  sentence?: ReactNode;
  action?: { label: string; run: () => void };
  /** Further actions. */
  children?: ReactNode;
}) {
  const { sentence, detail } = wordsOf(fault);
  return (
    <div
      role="alert"
      className="mt-2 flex flex-wrap items-start gap-x-3 gap-y-1 rounded-md border border-line bg-surface px-3 py-2 text-meta"
    >
      <AlertCircle size={16} className="mt-0.5 shrink-0 text-danger" aria-hidden />
      <p className="min-w-[min(14rem,calc(100%-28px))] flex-1 [overflow-wrap:anywhere]">
        <span className="text-danger">{said || sentence}</span>
      </p>
      {/* The actions wrap together onto a separate line if there is no room. */}
      <span className="flex flex-wrap gap-x-3 gap-y-1 max-sm:basis-full max-sm:pl-7">
        {action && (
          <button type="button" className={FAULT_ACTION} onClick={action.run}>
            {action.label}
          </button>
        )}
        {children}
        <button
          type="button"
          className="text-dim underline underline-offset-3 max-md:min-h-11"
          onClick={() => void copy(JSON.stringify(fault), 'Details copied')}
        >
          Copy details
        </button>
      </span>
      {detail && (
        <details className="basis-full pl-7 text-dim">
          <summary className="w-fit cursor-pointer max-md:py-2.5">Details</summary>
          <p className="mt-1 font-mono text-[12px] leading-[18px] [overflow-wrap:anywhere]">{detail}</p>
        </details>
      )}
    </div>
  );
}

/** One sentence and one action. */
export function Empty({ children }: { children: ReactNode }) {
  return <p className="meta py-10 text-center">{children}</p>;
}

/** Placeholder rows with the height of the content. */
export function Skeletons({ rows = 4, height = 'h-14' }: { rows?: number; height?: string }) {
  return (
    <div className="flex flex-col gap-2" aria-busy="true" aria-label="Loading" role="status">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className={`skeleton ${height}`} />
      ))}
    </div>
  );
}

/** The loaded content, or why there is none. A failed refresh keeps the content and shows the error. */
export function Shown<T>({
  of,
  rows,
  height,
  children,
}: {
  of: Loaded<T>;
  rows?: number;
  height?: string;
  children: (data: T) => ReactNode;
}) {
  const offline = useStore((state) => state.link !== 'online');
  if (of.data === undefined && of.fault)
    return <ErrorLine fault={of.fault} action={{ label: 'Retry', run: of.reload }} />;
  if (of.data === undefined) {
    return offline ? (
      <Empty>Not connected to Onyx. This page loads when the connection is back.</Empty>
    ) : (
      <Skeletons rows={rows} height={height} />
    );
  }
  return (
    <>
      {of.fault && <ErrorLine fault={of.fault} action={{ label: 'Retry', run: of.reload }} />}
      {children(of.data)}
    </>
  );
}
