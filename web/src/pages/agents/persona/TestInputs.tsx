import { useState, type FormEvent } from 'react';
import { Play, Users } from 'lucide-react';
import type { TestInput } from '@onyx/sdk';
import { onyx } from '../../../store/client';
import { useStore } from '../../../store/state';
import { attempt } from '../../../ui/act';
import { Shown } from '../../../ui/page';
import type { Loaded } from '../../../ui/useLoaded';
import { TestInputRow } from './TestInputRow';
import { tryOut } from './trials';
import { WhoAnswers } from './WhoAnswers';

/** Messages that test how this persona, or several, answer. */
export function TestInputs({
  persona,
  inputs,
  prompt,
  owner,
}: {
  persona: string;
  inputs: Loaded<TestInput[]>;
  prompt: string;
  owner: boolean;
}) {
  const [answering, setAnswering] = useState<string[]>([persona]);
  const [choosing, setChoosing] = useState(false);
  const several = useStore((state) => (state.status?.agents.length ?? 0) > 1);
  // A row that is being edited stays even if the editor removes its input in the meantime.
  const [written, setWritten] = useState<TestInput>();
  const run = (input: TestInput) => {
    for (const one of answering) void tryOut(persona, input, one, prompt);
  };
  return (
    <section aria-label="Test inputs" className="card flex min-w-0 flex-col p-3.5">
      <div className="mb-2 flex min-h-8 items-center gap-2">
        <h2 className="meta min-w-0 flex-1">Test inputs</h2>
        {several && owner && (
          <button
            type="button"
            className="btn"
            aria-label={`Who answers, ${answering.length}`}
            title="Who answers"
            onClick={() => setChoosing(true)}
          >
            <Users size={15} aria-hidden /> {answering.length}
          </button>
        )}
        {(inputs.data?.length ?? 0) > 0 && (
          <button type="button" className="btn" onClick={() => inputs.data?.forEach(run)}>
            <Play size={13} aria-hidden /> Run all
          </button>
        )}
      </div>
      <Shown of={inputs} rows={2} height="h-16">
        {(list) => {
          const gone = written && !list.some((input) => input.id === written.id) ? [written] : [];
          return (
            <>
              {list.length + gone.length === 0 && <p className="meta py-2">No test inputs yet. Add one below.</p>}
              <ul className="divide-y divide-line">
                {[...list, ...gone].map((input) => (
                  <li key={input.id} className="py-3 first:pt-1">
                    <TestInputRow
                      persona={persona}
                      input={input}
                      gone={gone.includes(input)}
                      answering={answering}
                      prompt={prompt}
                      owner={owner}
                      onRun={() => run(input)}
                      onWriting={(on) => setWritten(on ? input : undefined)}
                      reload={inputs.reload}
                    />
                  </li>
                ))}
              </ul>
            </>
          );
        }}
      </Shown>
      {owner && <Add persona={persona} onAdded={inputs.reload} />}
      {choosing && (
        <WhoAnswers persona={persona} chosen={answering} onChosen={setAnswering} close={() => setChoosing(false)} />
      )}
    </section>
  );
}

function Add({ persona, onAdded }: { persona: string; onAdded: () => void }) {
  const [text, setText] = useState('');
  const [busy, setBusy] = useState(false);
  const add = async (event: FormEvent) => {
    event.preventDefault();
    const content = text.trim();
    if (content === '' || busy) return;
    setBusy(true);
    const added = await attempt('Not added', () => onyx.personas.createTestInput(persona, content));
    setBusy(false);
    if (!added) return;
    setText('');
    onAdded();
  };
  return (
    <form className="mt-2 flex gap-2" onSubmit={(event) => void add(event)}>
      <input
        className="field min-w-0 flex-1"
        dir="auto"
        aria-label="New test input"
        placeholder="Type a message to try"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" className="btn h-9" disabled={text.trim() === '' || busy}>
        Add
      </button>
    </form>
  );
}
