import { useId, useState } from 'react';
import type { SourceScope, Supply } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { Choices, Field, Form } from '../../ui/form';
import { Modal } from '../../ui/Modal';

type Kind = 'text' | 'url' | 'upload' | 'vault';
const KINDS: [Kind, string][] = [
  ['text', 'Text'],
  ['url', 'Web page'],
  ['upload', 'File'],
  ['vault', 'Vault'],
];

/** Adds a source. Content from outside is evidence for agents, even if the person attached it. */
export function AddSource({ scope, close, added }: { scope: SourceScope; close: () => void; added: () => void }) {
  const [kind, setKind] = useState<Kind>('text');
  const [file, setFile] = useState<File>();
  const id = useId();
  const add = async (field: (name: string) => string) => {
    await onyx.sources.add({ scope, title: field('title') || undefined, ...(await supply(kind, field, file)) });
    added();
    close();
  };
  return (
    <Modal label="Add a source" onClose={close} className="max-w-120">
      <div className="p-5">
        <h2 className="mb-3 font-semibold">Add a source</h2>
        <Form action="Add" onSubmit={add} onCancel={close}>
          <Choices label="Where it comes from" value={kind} options={KINDS} onChange={setKind} />
          {kind === 'text' && (
            <div className="meta">
              <label htmlFor={`${id}-text`}>Text</label>
              <textarea
                id={`${id}-text`}
                name="text"
                required
                rows={6}
                dir="auto"
                className="field mt-1 h-auto py-2 text-text"
              />
            </div>
          )}
          {kind === 'url' && (
            <Field
              label="Address"
              name="url"
              type="url"
              required
              placeholder="https://…"
              hint="Fetched once now. Sync it later to pick up changes."
            />
          )}
          {kind === 'upload' && (
            <Field
              label="File"
              name="file"
              type="file"
              required
              accept=".md,.txt,.html,.htm,.pdf,.csv,.json,text/*"
              onChange={(event) => setFile(event.target.files?.[0])}
              hint="Markdown, text, HTML, PDF, CSV or code."
            />
          )}
          {kind === 'vault' && (
            <Field
              label="Path"
              name="path"
              required
              placeholder="notes/ or notes/plan.md"
              hint="A file in your vault, or a folder if it ends with a slash."
            />
          )}
          <Field label="Title" name="title" maxLength={200} placeholder="From the document" />
        </Form>
      </div>
    </Modal>
  );
}

async function supply(kind: Kind, field: (name: string) => string, file: File | undefined): Promise<Supply> {
  switch (kind) {
    case 'text':
      return { kind: 'text', text: field('text') };
    case 'url':
      return { kind: 'url', url: field('url') };
    case 'vault': {
      const path = field('path');
      return path.endsWith('/') ? { kind: 'folder', path: path.replace(/\/+$/, '') } : { kind: 'file', path };
    }
    case 'upload':
      return {
        kind: 'file',
        name: file?.name ?? '',
        mediaType: file?.type || undefined,
        data: file ? await base64(file) : '',
      };
  }
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''));
    reader.onerror = () => reject(reader.error ?? new Error('unreadable'));
    reader.readAsDataURL(file);
  });
}
