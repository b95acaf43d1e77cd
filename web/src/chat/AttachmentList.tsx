import { FileText, X } from 'lucide-react';
import type { Attachments } from './useAttachments';

/** What goes with the message, each with a button that removes it. */
export function AttachmentList({ of: { pictures, files, empty, removePicture, removeFile } }: { of: Attachments }) {
  if (empty) return null;
  return (
    <ul className="mb-2 flex flex-wrap gap-2" aria-label="Attachments">
      {pictures.map((picture, index) => (
        <li key={picture.url} className="relative">
          <img src={picture.url} alt={picture.name} className="size-16 rounded-sm border border-line object-cover" />
          <RemoveButton
            name={picture.name}
            className="absolute -top-1.5 -right-1.5 bg-surface"
            onClick={() => removePicture(index)}
          />
        </li>
      ))}
      {files.map((file, index) => (
        <li key={`${file.name} ${index}`} className="chip">
          <FileText size={14} className="shrink-0" aria-hidden />
          <span className="truncate" title={file.name}>
            {file.name}
          </span>
          <RemoveButton name={file.name} onClick={() => removeFile(index)} />
        </li>
      ))}
    </ul>
  );
}

function RemoveButton({ name, className = '', onClick }: { name: string; className?: string; onClick: () => void }) {
  return (
    <button
      type="button"
      aria-label={`Remove ${name}`}
      className={`flex size-5 shrink-0 items-center justify-center rounded-full border border-line ${className}`}
      onClick={onClick}
    >
      <X size={12} aria-hidden />
    </button>
  );
}
