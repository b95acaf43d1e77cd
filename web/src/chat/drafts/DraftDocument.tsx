import type { DiffLine, DocumentField, DocumentPreview } from '@onyx/sdk';
import { Markdown } from '../../markdown/Markdown';
import { Diff } from '../Diff';

/** A page or a task, shown rendered; the diff of its file can be opened. */
export function DraftDocument({
  document,
  path,
  lines,
}: {
  document: DocumentPreview;
  path: string;
  lines: DiffLine[];
}) {
  const { kind, isNew, title, fields, body } = document;
  const text = body.map((line) => line.text).join('\n');
  return (
    <div className="border-t border-line px-3.5 py-3">
      <p className="text-tiny text-dim">{isNew ? `New ${kind}` : `Change to a ${kind}`}</p>
      {title && (
        <p className="font-semibold [overflow-wrap:anywhere]" dir="auto">
          {title}
        </p>
      )}
      {fields.length > 0 && (
        <dl className="mt-1.5 grid grid-cols-[auto_1fr] gap-x-4 gap-y-0.5 text-meta">
          {fields.map((field) => (
            <Field key={field.name} field={field} />
          ))}
        </dl>
      )}
      {text.trim() !== '' && (
        <div className="mt-2 max-h-[420px] overflow-auto" tabIndex={0} role="group" aria-label="Text">
          {isNew ? <Markdown text={text} /> : <Changed body={body} />}
        </div>
      )}
      <details className="mt-2 text-meta text-dim">
        <summary className="w-fit cursor-pointer max-md:py-2.5">Show the file</summary>
        <div className="mt-2 overflow-hidden rounded-sm border border-line text-text">
          <Diff lines={lines} label={`Change to ${path}`} />
        </div>
      </details>
    </div>
  );
}

function Field({ field: { label, before, after } }: { field: DocumentField }) {
  return (
    <>
      <dt className="text-dim">{label}</dt>
      <dd className="min-w-0 [overflow-wrap:anywhere]" dir="auto">
        {before != null && <del className="text-dim">{before || 'empty'}</del>}
        {before != null && after != null && ' → '}
        {after != null ? <ins className="no-underline">{after || 'empty'}</ins> : ' removed'}
      </dd>
    </>
  );
}

const SAME = { tone: 'text-dim', said: undefined };
const CHANGES: Partial<Record<DiffLine['kind'], { tone: string; said: string }>> = {
  added: { tone: 'bg-(--add)', said: 'Added: ' },
  removed: { tone: 'bg-(--del) line-through', said: 'Removed: ' },
};

function Changed({ body }: { body: DiffLine[] }) {
  return body.map(({ kind, text }, index) => (
    <p
      key={index}
      dir="auto"
      className={`px-1.5 whitespace-pre-wrap [overflow-wrap:anywhere] ${(CHANGES[kind] ?? SAME).tone}`}
    >
      {CHANGES[kind] && <span className="sr-only">{CHANGES[kind].said}</span>}
      {text || ' '}
    </p>
  ));
}
