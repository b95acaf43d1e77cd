import type { Preview } from '@onyx/sdk';
import { Diff } from '../Diff';
import { DraftDocument } from './DraftDocument';

/** The exact text, document or diff that an approval would apply. */
export function DraftPreview({ preview }: { preview: Preview }) {
  if (preview.kind === 'none') return null;
  if (preview.kind === 'text' || preview.kind === 'choice') {
    return (
      <pre
        className="diff border-t border-line px-3.5 whitespace-pre-wrap [overflow-wrap:anywhere]"
        tabIndex={0}
        aria-label="Preview"
        dir="auto"
      >
        {preview.text}
      </pre>
    );
  }
  const { path, diffLines, document } = preview;
  if (document) return <DraftDocument document={document} path={path} lines={diffLines} />;
  return <Diff lines={diffLines} label={`Change to ${path}`} />;
}
