import { useEffect, useRef, type ReactNode } from 'react';
import { Download, X } from 'lucide-react';

/** The panel beside a conversation that shows an artifact or a file, with a download button. */
export function Panel({
  name,
  onDownload,
  onClose,
  bar,
  children,
}: {
  name: string;
  onDownload: () => void;
  onClose: () => void;
  bar?: ReactNode;
  children: ReactNode;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-label={name}
      onCancel={(event) => (event.preventDefault(), onClose())}
      onClick={(event) => event.target === dialog.current && onClose()}
      className="rise fixed inset-y-0 right-0 left-auto h-full w-[min(720px,100vw)] border-l border-line bg-bg shadow-over"
    >
      <div className="flex h-full flex-col">
        <header className="flex min-h-13 shrink-0 flex-wrap items-center gap-2 border-b border-line px-4 py-1.5">
          <h2 className="min-w-0 flex-1 truncate font-semibold">{name}</h2>
          {bar}
          <button type="button" className="btn" onClick={onDownload}>
            <Download size={14} aria-hidden /> Download
          </button>
          <button type="button" className="icon-btn" aria-label="Close" data-first-focus onClick={onClose}>
            <X size={16} aria-hidden />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
