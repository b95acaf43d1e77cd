import { useRef } from 'react';
import { Paperclip } from 'lucide-react';

export interface FileButtonProps {
  label: string;
  /** The kinds of files that can be chosen. */
  title: string;
  onFiles: (files: File[]) => void;
  className?: string;
}

/** Opens the browser's choice of files. The same file can be chosen again after it was removed. */
export function FileButton({ label, title, onFiles, className = '' }: FileButtonProps) {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
      <button
        type="button"
        className={`icon-btn ${className}`}
        aria-label={label}
        title={title}
        onClick={() => picker.current?.click()}
      >
        <Paperclip size={16} aria-hidden />
      </button>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        tabIndex={-1}
        aria-hidden
        onChange={(event) => {
          const files = [...(event.target.files ?? [])];
          // Without this the browser reports no change when the same file is chosen again.
          event.target.value = '';
          onFiles(files);
        }}
      />
    </>
  );
}
