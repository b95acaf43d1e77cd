import { useEffect, useRef } from 'react';
import { Download, X } from 'lucide-react';
import { save } from '../ui/download';
import { CodeBlock } from './CodeBlock';
import { rowsOf } from './csv';

const ENDINGS: Record<string, string> = {
  javascript: 'js',
  typescript: 'ts',
  python: 'py',
  shell: 'sh',
  bash: 'sh',
  rust: 'rs',
  markdown: 'md',
  mermaid: 'mmd',
  text: 'txt',
};

/** What an answer made, beside the conversation: as what it is, with its source, to be kept as a file. */
export default function Artifact({ code, language, onClose }: { code: string; language: string; onClose: () => void }) {
  const name = `artifact.${ENDINGS[language] ?? (language || 'txt')}`;
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
        <header className="flex h-13 shrink-0 items-center gap-2 border-b border-line px-4">
          <h2 className="min-w-0 flex-1 truncate font-semibold">{name}</h2>
          <button type="button" className="btn" onClick={() => save(name, code)}>
            <Download size={14} aria-hidden /> Download
          </button>
          <button type="button" className="icon-btn" aria-label="Close" data-first-focus onClick={onClose}>
            <X size={16} aria-hidden />
          </button>
        </header>
        <div className="prose min-h-0 flex-1 overflow-auto p-4">
          {language === 'csv' && <Rows text={code} />}
          {/* Inside a picture nothing runs and nothing loads. */}
          {language === 'svg' && (
            <img
              src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(code)}`}
              alt="The drawing"
              className="mx-auto mb-4 max-h-[60vh] bg-white"
            />
          )}
          {language !== 'csv' && <CodeBlock code={code} language={language} inPanel />}
        </div>
      </div>
    </dialog>
  );
}

function Rows({ text }: { text: string }) {
  const [head = [], ...rows] = rowsOf(text);
  return (
    <div className="table-wrap" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>
            {head.map((cell, index) => (
              <th key={index} dir="auto">
                {cell}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, index) => (
                <td key={index} dir="auto">
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
