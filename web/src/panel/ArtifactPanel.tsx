import { useState, type ReactNode } from 'react';
import { CodeBlock } from '../markdown/CodeBlock';
import { rowsOf } from '../markdown/csv';
import { Choices } from '../ui/form';
import { save } from '../ui/download';
import { DiagramPicture } from './DiagramPicture';
import { HtmlPreview } from './HtmlPreview';
import { Panel } from './Panel';

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

/** The preview of code that can be rendered. */
function previewOf(language: string, code: string): ReactNode {
  switch (language) {
    case 'html':
    case 'htm':
      return <HtmlPreview html={code} />;
    case 'csv':
    case 'tsv':
      return <Rows text={code} />;
    case 'svg':
      return <Drawing code={code} />;
    case 'mermaid':
      return <DiagramPicture code={code} />;
    default:
      return undefined;
  }
}

/** Code of an answer, shown beside the conversation as a preview and as source. */
export default function ArtifactPanel({
  code,
  language,
  onClose,
}: {
  code: string;
  language: string;
  onClose: () => void;
}) {
  const name = `artifact.${ENDINGS[language] ?? (language || 'txt')}`;
  const preview = previewOf(language, code);
  const [view, setView] = useState<'preview' | 'code'>('preview');
  return (
    <Panel
      name={name}
      onDownload={() => save(name, code)}
      onClose={onClose}
      bar={
        preview && (
          <Choices
            label="View"
            value={view}
            options={[
              ['preview', 'Preview'],
              ['code', 'Code'],
            ]}
            onChange={setView}
          />
        )
      }
    >
      <div className="prose flex min-h-0 flex-1 flex-col overflow-auto p-4">
        {preview && view === 'preview' ? preview : <CodeBlock code={code} language={language} inPanel />}
      </div>
    </Panel>
  );
}

/** An SVG is shown as a picture, in which no script runs and nothing is loaded. */
function Drawing({ code }: { code: string }) {
  return (
    <img
      src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(code)}`}
      alt="The drawing"
      className="mx-auto max-h-full bg-white"
    />
  );
}

/** The number of rows shown; the downloaded file has all of them. */
const MOST_ROWS = 1_000;

function Rows({ text }: { text: string }) {
  const [head = [], ...rows] = rowsOf(text);
  return (
    <>
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
            {rows.slice(0, MOST_ROWS).map((row, at) => (
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
      {rows.length > MOST_ROWS && (
        <p className="meta">
          The first {MOST_ROWS} of {rows.length} rows. Download the file for all of them.
        </p>
      )}
    </>
  );
}
