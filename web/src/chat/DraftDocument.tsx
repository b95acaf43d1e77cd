import { Markdown } from '../markdown/Markdown';
import { Diff } from './Diff';
import type { DocumentChange, FieldChange } from './documents';

/** A page or a task, shown rendered; the diff of its file can be opened. */
export function DraftDocument({ change, path, unified }: { change: DocumentChange; path: string; unified: string }) {
  const { kind, isNew, title, fields, body } = change;
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
          <Diff unified={unified} label={`Change to ${path}`} />
        </div>
      </details>
    </div>
  );
}

const nameOf = (name: string) => name.replace(/_/g, ' ').replace(/^./, (letter) => letter.toUpperCase());

function Field({ field: { name, before, after } }: { field: FieldChange }) {
  return (
    <>
      <dt className="text-dim">{nameOf(name)}</dt>
      <dd className="min-w-0 [overflow-wrap:anywhere]" dir="auto">
        {before !== undefined && <del className="text-dim">{before || 'empty'}</del>}
        {before !== undefined && after !== undefined && ' → '}
        {after !== undefined ? <ins className="no-underline">{after || 'empty'}</ins> : ' removed'}
      </dd>
    </>
  );
}

const TONES = { same: 'text-dim', added: 'bg-(--add)', removed: 'bg-(--del) line-through' };

function Changed({ body }: { body: DocumentChange['body'] }) {
  return body.map(({ change, text }, index) => (
    <p key={index} dir="auto" className={`px-1.5 whitespace-pre-wrap [overflow-wrap:anywhere] ${TONES[change]}`}>
      {change !== 'same' && <span className="sr-only">{change === 'added' ? 'Added: ' : 'Removed: '}</span>}
      {text || ' '}
    </p>
  ));
}
