import { useState, type DragEvent } from 'react';
import type { Capture, Fault } from '@onyx/sdk';
import { faultOf, onyx } from '../../store/client';
import { toast } from '../../store/state';
import { FileButton } from '../../ui/FileButton';
import { ErrorLine } from '../../ui/page';
import { captureFile, captureOf, nameOf } from './capture';

interface Failed {
  capture: Capture;
  fault: Fault;
}

/** Saves a link, a text or files as refs. A failed capture stays here and can be retried. */
export function CaptureBox({ space, onCaptured }: { space: string; onCaptured: () => void }) {
  const [text, setText] = useState('');
  const [working, setWorking] = useState<string[]>([]);
  const [failed, setFailed] = useState<Failed[]>([]);
  const capture = async (one: Capture) => {
    const name = nameOf(one);
    setWorking((all) => [...all, name]);
    setFailed((all) => all.filter((other) => other.capture !== one));
    try {
      const made = await onyx.spaces.capture(space, one);
      toast(`Captured “${made.title}”`);
      onCaptured();
    } catch (error) {
      setFailed((all) => [...all, { capture: one, fault: faultOf(error) }]);
    }
    setWorking((all) => all.filter((_, at) => at !== all.indexOf(name)));
  };
  const send = () => {
    const one = captureOf(text);
    if (!one) return;
    setText('');
    void capture(one);
  };
  const files = async (list: Iterable<File>) => {
    for (const file of list) await capture(await captureFile(file));
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    void files([...event.dataTransfer.files]);
  };
  return (
    <form
      className="card mb-4 px-3 pt-2 pb-2.5 focus-within:border-dim/60"
      aria-label="Capture"
      onSubmit={(event) => (event.preventDefault(), send())}
      onDragOver={(event) => event.preventDefault()}
      onDrop={onDrop}
    >
      <textarea
        rows={2}
        dir="auto"
        aria-label="A link or a text to capture"
        placeholder="Paste a link or a text, or drop a file: PDF, HTML, text"
        className="block max-h-60 w-full resize-none bg-transparent px-1 py-1 text-[16px] leading-6 outline-none placeholder:text-dim md:text-body"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          // A text may have several lines; an address has one.
          const isDone =
            event.key === 'Enter' &&
            !event.nativeEvent.isComposing &&
            (event.metaKey || event.ctrlKey || 'url' in (captureOf(text) ?? {}));
          if (isDone) event.preventDefault(), send();
        }}
      />
      <div className="flex items-center gap-2">
        <FileButton label="Capture files" title="PDF, HTML, text" onFiles={(chosen) => void files(chosen)} />
        <span className="meta min-w-0 flex-1 truncate" role="status">
          {working.length > 0 && `Capturing ${working.join(', ')}`}
        </span>
        <button type="submit" className="btn btn-primary" disabled={text.trim() === ''}>
          Capture
        </button>
      </div>
      {failed.map(({ capture: one, fault }, index) => (
        <ErrorLine
          key={index}
          fault={{ ...fault, message: `${nameOf(one)} was not captured. ${fault.message}` }}
          action={{ label: 'Retry', run: () => void capture(one) }}
        />
      ))}
    </form>
  );
}
