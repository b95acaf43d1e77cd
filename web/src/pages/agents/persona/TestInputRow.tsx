import { useEffect, useState } from 'react';
import { Pencil, Play, Trash2 } from 'lucide-react';
import type { TestInput } from '@onyx/sdk';
import { onyx } from '../../../store/client';
import { useStore } from '../../../store/state';
import { attempt } from '../../../ui/act';
import { ErrorLine } from '../../../ui/page';
import { Answer } from './Answer';
import { Choice } from './Choice';
import { textOf } from './editedText';
import { keyOf, stopTrial, tryOut, useTrials } from './trials';
import { useEditedText } from './useEditedText';

interface RowProps {
  persona: string;
  input: TestInput;
  /** The input was removed while the person was editing it. */
  gone: boolean;
  answering: string[];
  prompt: string;
  owner: boolean;
  onRun: () => void;
  onWriting: (on: boolean) => void;
  reload: () => void;
}

export function TestInputRow({ persona, input, gone, answering, prompt, owner, onRun, onWriting, reload }: RowProps) {
  const [editing, setEditing] = useState(false);
  const write = (on: boolean) => (setEditing(on), onWriting(on));
  const remove = async () => {
    if (await attempt('Not removed', () => onyx.personas.removeTestInput(persona, input.id).then(() => true))) reload();
  };
  return (
    <>
      {editing ? (
        <Edit persona={persona} input={input} gone={gone} close={() => (write(false), reload())} />
      ) : (
        <div className="flex items-start gap-1">
          <h3 dir="auto" className="min-w-0 flex-1 py-1 font-medium whitespace-pre-wrap [overflow-wrap:anywhere]">
            {input.content.trim()}
          </h3>
          <button type="button" className="icon-btn" aria-label="Run this test input" title="Run" onClick={onRun}>
            <Play size={15} aria-hidden />
          </button>
          {owner && (
            <>
              <button
                type="button"
                className="icon-btn"
                aria-label="Edit this test input"
                title="Edit"
                onClick={() => write(true)}
              >
                <Pencil size={15} aria-hidden />
              </button>
              <button
                type="button"
                className="icon-btn"
                aria-label="Remove this test input"
                title="Remove"
                onClick={() => void remove()}
              >
                <Trash2 size={15} aria-hidden />
              </button>
            </>
          )}
        </div>
      )}
      <Answers persona={persona} input={input} answering={answering} prompt={prompt} />
    </>
  );
}

/** The answers, side by side where there is room, each as it streams. */
function Answers({ persona, input, answering, prompt }: Pick<RowProps, 'persona' | 'input' | 'answering' | 'prompt'>) {
  const trials = useTrials();
  const agents = useStore((state) => state.status?.agents);
  const shown = answering.flatMap((one) => {
    const trial = trials[keyOf(persona, input.id, one)];
    return trial ? [{ one, trial }] : [];
  });
  if (shown.length === 0) return null;
  return (
    <div className="mt-1 flex flex-col gap-3" role="log" aria-label="Answers" aria-live="off">
      {shown.map(({ one, trial }) => (
        <Answer
          key={one}
          persona={one}
          name={agents?.find((agent) => agent.id === one)?.name ?? one}
          trial={trial}
          old={one === persona && trial.prompt !== prompt}
          onRun={() => void tryOut(persona, input, one, prompt)}
          onStop={() => stopTrial(keyOf(persona, input.id, one))}
        />
      ))}
    </div>
  );
}

function Edit({
  persona,
  input,
  gone,
  close,
}: {
  persona: string;
  input: TestInput;
  gone: boolean;
  close: () => void;
}) {
  const put = (content: string) =>
    onyx.personas.updateTestInput(persona, { id: input.id, content }).then((saved) => saved.content);
  const { edited, tell, changed, busy, fault, save } = useEditedText(
    { text: input.content, version: input.content },
    put,
    () => undefined,
  );
  const text = textOf(edited);
  useEffect(() => tell({ type: 'typed', text: input.content }), []);
  const done = async () => {
    if (!changed && !gone) return close();
    if (await save()) close();
  };
  return (
    <form className="flex flex-col gap-2" onSubmit={(event) => (event.preventDefault(), void done())}>
      {gone && (
        <p role="status" className="text-meta text-warn">
          It was removed meanwhile; saving brings it back.
        </p>
      )}
      <Choice edited={edited} what="This test input" tell={tell} />
      <textarea
        autoFocus
        dir="auto"
        aria-label="Text of the test input"
        className="field h-auto min-h-20 py-2"
        value={text}
        onChange={(event) => tell({ type: 'typed', text: event.target.value })}
        onKeyDown={(event) => event.key === 'Escape' && (event.preventDefault(), close())}
      />
      {fault && <ErrorLine fault={fault} />}
      <div className="flex justify-end gap-2">
        <button type="button" className="btn" onClick={close}>
          Cancel
        </button>
        <button
          type="submit"
          className="btn btn-primary"
          disabled={busy || text.trim() === '' || edited.theirs !== undefined}
        >
          Save
        </button>
      </div>
    </form>
  );
}
