import { useState, type DragEvent } from 'react';
import type { Fault, ImportCounts, ImportProgress, ImportReport, ImportSource } from '@onyx/sdk';
import { faultOf, onyx, refreshStatus } from '../../store/client';
import { Card, Choices, Line, Section } from '../../ui/form';
import { ErrorLine } from '../../ui/page';

const PROGRAMS: [ImportSource, string][] = [
  ['chatgpt', 'ChatGPT'],
  ['claude', 'Claude'],
  ['open-webui', 'Open WebUI'],
  ['openclaw', 'OpenClaw'],
  ['nanobot', 'nanobot'],
];

const WHAT: Record<ImportSource, string> = {
  chatgpt: 'The ZIP file of your export, or conversations.json.',
  claude: 'The ZIP file of your export, or conversations.json.',
  'open-webui': 'The JSON file with all chats, or webui.db.',
  openclaw: 'A ZIP file of the folder .openclaw.',
  nanobot: 'A ZIP file of the folder .nanobot.',
};

const KINDS: Record<string, string> & Record<keyof ImportReport['counts'], string> = {
  agent: 'Agents',
  provider: 'Providers',
  connector: 'Connectors',
  mcp_server: 'MCP servers',
  persona: 'Agent files',
  memory: 'Memory files',
  file: 'Files',
  skill: 'Skills',
  job: 'Jobs',
  session: 'Chats',
};

type Step =
  | { at: 'idle' }
  | { at: 'checking' | 'importing'; file: File; progress?: ImportProgress }
  | { at: 'checked' | 'done'; file: File; report: ImportReport };

/** Imports an export of another program, after a preview that the owner confirms. */
export function Import() {
  const [from, setFrom] = useState<ImportSource>('chatgpt');
  const [step, setStep] = useState<Step>({ at: 'idle' });
  const [fault, setFault] = useState<Fault>();
  const send = async (file: File, dryRun: boolean) => {
    setFault(undefined);
    const at = dryRun ? 'checking' : 'importing';
    setStep({ at, file });
    const onProgress = (progress: ImportProgress) => setStep({ at, file, progress });
    try {
      const report = await onyx.admin.importExport(from, file, { dryRun, onProgress });
      setStep({ at: dryRun ? 'checked' : 'done', file, report });
      if (!dryRun) void refreshStatus();
    } catch (error) {
      setFault(faultOf(error));
      setStep({ at: 'idle' });
    }
  };
  const take = (files: FileList | null) => {
    const file = files?.[0];
    if (file) void send(file, true);
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    if (!busy) take(event.dataTransfer.files);
  };
  const busy = step.at === 'checking' || step.at === 'importing';
  return (
    <Section
      title="Import"
      detail="Bring your chats, agents and memory from another program. Nothing is changed there."
    >
      <Choices
        label="Program"
        value={from}
        options={PROGRAMS}
        onChange={(program) => (setFrom(program), setStep({ at: 'idle' }), setFault(undefined))}
      />
      <label
        className="card mt-3 flex min-h-28 cursor-pointer flex-col items-center justify-center gap-1 border-dashed px-4 py-5 text-center focus-within:border-accent"
        onDragOver={(event) => event.preventDefault()}
        onDrop={onDrop}
      >
        <span>Drop the export here, or choose a file</span>
        <span className="meta">{WHAT[from]}</span>
        <input
          type="file"
          className="sr-only"
          aria-label="Export file"
          disabled={busy}
          // Browsers open a file input only with Space; keyboard users try Enter first.
          onKeyDown={(event) => event.key === 'Enter' && event.currentTarget.click()}
          onChange={(event) => (take(event.target.files), (event.target.value = ''))}
        />
      </label>
      {busy && 'file' in step && (
        <HowFar words={`${step.at === 'checking' ? 'Reading' : 'Importing'} ${step.file.name}`} step={step} />
      )}
      {fault && <ErrorLine fault={fault} />}
      {'report' in step && (
        <Report report={step.report} onImport={step.at === 'checked' ? () => void send(step.file, false) : undefined} />
      )}
    </Section>
  );
}

/** The file's size while it is read, then the number of processed entries. */
function HowFar({
  words,
  step: { file, progress },
}: {
  words: string;
  step: { file: File; progress?: ImportProgress };
}) {
  const counted = progress && progress.total > 0 ? progress : undefined;
  return (
    <div className="mt-3">
      <p role="status" className="meta [overflow-wrap:anywhere]">
        {words} ({counted ? `${counted.done} of ${counted.total}` : size(file)})…
      </p>
      <progress
        className="mt-1 h-1.5 w-full accent-accent"
        aria-label={words}
        max={counted?.total ?? 1}
        value={counted ? counted.done : undefined}
      />
    </div>
  );
}

function Report({ report, onImport }: { report: ImportReport; onImport?: () => void }) {
  const rows = Object.entries(report.counts);
  const isNew = rows.some(([, counts]) => counts.new + counts.added > 0);
  const kept = report.entries.filter((entry) => entry.outcome === 'kept');
  return (
    <div className="mt-4" role="region" aria-label="Report">
      <div className="mb-2 flex min-h-8 items-center gap-3">
        <p className="flex-1 font-medium">
          {!isNew ? 'Everything is already here.' : onImport ? 'This will be imported:' : 'Imported.'}
        </p>
        {onImport && isNew && (
          <button type="button" className="btn btn-primary" onClick={onImport}>
            Import
          </button>
        )}
      </div>
      <Card>
        {rows.map(([kind, counts]) => (
          <Line key={kind} label={KINDS[kind] ?? kind}>
            <span className="meta">{words(counts)}</span>
          </Line>
        ))}
      </Card>
      {!onImport && isNew && <p className="meta mt-2">Jobs and skills wait in the Inbox until you accept them.</p>}
      <Remarks title="Not imported: something else is already here" rows={kept.map((it) => [it.name, it.why ?? ''])} />
      <Remarks title="Renamed" rows={report.renamed.map((it) => [it.what, it.why])} />
      <Remarks title="Left out" rows={report.leftOut.map((it) => [it.what, it.why])} />
    </div>
  );
}

function Remarks({ title, rows }: { title: string; rows: [string, string][] }) {
  if (rows.length === 0) return null;
  return (
    <details className="mt-3">
      <summary className="cursor-pointer text-meta">
        {title} ({rows.length})
      </summary>
      <ul className="mt-1 text-meta text-dim [overflow-wrap:anywhere]">
        {rows.map(([what, why]) => (
          <li key={`${what} ${why}`}>
            {what}: {why}
          </li>
        ))}
      </ul>
    </details>
  );
}

function words(counts: ImportCounts): string {
  const parts: [number, string][] = [
    [counts.new, 'new'],
    [counts.added, 'added to'],
    [counts.alreadyThere, 'already here'],
    [counts.kept, 'not imported'],
  ];
  return parts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}`)
    .join(', ');
}

function size(file: File): string {
  return file.size < 1024 * 1024 ? `${Math.ceil(file.size / 1024)} KB` : `${Math.ceil(file.size / (1024 * 1024))} MB`;
}
