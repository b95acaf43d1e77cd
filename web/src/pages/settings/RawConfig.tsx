import { useEffect, useState } from 'react';
import type { Fault } from '@onyx/sdk';
import { faultOf, onyx, refreshStatus } from '../../store/client';
import { toast } from '../../store/state';
import { Section } from '../../ui/form';
import { Editor } from '../../ui/Editor';
import { ErrorLine, Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';

/** An editor for `onyx.json`. An invalid file is refused with the field; the old one stays in use. */
export function RawConfig() {
  const config = useLoaded('config', () => onyx.admin.config());
  const [text, setText] = useState<string>();
  const [fault, setFault] = useState<Fault>();
  const [busy, setBusy] = useState(false);
  useEffect(() => setText(undefined), [config.data?.version]);
  const save = async (version: string) => {
    if (text === undefined) return;
    setBusy(true);
    try {
      await onyx.admin.setConfig(text, version);
      setFault(undefined);
      toast('Saved and in use');
      config.reload();
      void refreshStatus();
    } catch (error) {
      setFault(faultOf(error));
    }
    setBusy(false);
  };
  return (
    <Section
      title="Configuration"
      detail="onyx.json as it is on disk. JSON5; comments are kept. Changes apply at once."
    >
      <Shown of={config} rows={1} height="h-96">
        {(known) => (
          <div className="flex flex-col gap-3">
            {known.error && (
              <ErrorLine
                fault={{
                  code: 'invalid_request',
                  message: `The file is not used: ${[known.error.field, known.error.message].filter(Boolean).join(': ')}`,
                  hint: 'The last working version stays in use until this is fixed.',
                }}
              />
            )}
            {known.warnings.length > 0 && (
              <ul className="card border-l-3 border-l-warn px-4 py-2.5 text-meta" aria-label="Warnings">
                {known.warnings.map((warning) => (
                  <li key={warning}>{warning}</li>
                ))}
              </ul>
            )}
            <div className="flex h-[52vh] min-h-80">
              <Editor label="Text of onyx.json" text={text ?? known.text} onChange={setText} />
            </div>
            {fault && (
              <ErrorLine
                fault={{ ...fault, message: fault.field ? `${fault.field}: ${fault.message}` : fault.message }}
              />
            )}
            <div className="flex flex-wrap justify-end gap-2">
              {known.lastGood && known.lastGood !== known.text && (
                <button type="button" className="btn mr-auto" onClick={() => setText(known.lastGood ?? '')}>
                  Load the last good version
                </button>
              )}
              <button
                type="button"
                className="btn"
                disabled={text === undefined}
                onClick={() => (setText(undefined), setFault(undefined))}
              >
                Discard
              </button>
              <button
                type="button"
                className="btn btn-primary"
                disabled={busy || text === undefined || text === known.text}
                onClick={() => void save(known.version)}
              >
                Check and save
              </button>
            </div>
          </div>
        )}
      </Shown>
    </Section>
  );
}
