import { useRef, useState } from 'react';
import { ArrowDown, ArrowUp, X } from 'lucide-react';
import type { DefaultModel as Setting, Provider } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { Line, Section } from '../../ui/form';
import { Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';

/** The default model and its fallbacks, ordered by dragging or by buttons. */
export function DefaultModel({ providers }: { providers?: Provider[] }) {
  const setting = useLoaded('default model', () => onyx.admin.defaultModel());
  // The models are loaded again when a provider is added, signed in to or removed.
  const known = (providers ?? []).map(({ name, state }) => `${name} ${state}`).join();
  const models = useLoaded(`models to choose from ${known}`, () => onyx.admin.models());
  // The change is shown at once, so that the next press builds on it; the writes follow one after the other.
  const [wanted, setWanted] = useState<Setting>();
  const writing = useRef(Promise.resolve());
  const change = (next: Setting) => {
    setWanted(next);
    writing.current = writing.current.then(async () => {
      const set = await attempt('The default model was not set', () => onyx.admin.setDefaultModel(next));
      if (!set) setWanted(undefined);
      setting.reload();
    });
  };
  const ids = (models.data ?? []).map((model) => model.id);
  return (
    <Section
      title="Default model"
      detail="Used by agents without a model of their own and by the persona editor. If it fails, the next model is tried."
    >
      <Shown of={setting}>{(now) => <Chain setting={wanted ?? now} ids={ids} onChange={change} />}</Shown>
    </Section>
  );
}

const chainOf = ({ primary, fallbacks }: Setting) => [...(primary ? [primary] : []), ...fallbacks];
const settingOf = ([primary, ...fallbacks]: string[]): Setting => ({ primary: primary ?? null, fallbacks });

function Chain({ setting, ids, onChange }: { setting: Setting; ids: string[]; onChange: (next: Setting) => void }) {
  const [dragged, setDragged] = useState<number>();
  const chain = chainOf(setting);
  const move = (from: number, to: number) => {
    const model = chain[from];
    if (model === undefined || from === to || to < 0 || to >= chain.length) return;
    const rest = chain.filter((_, place) => place !== from);
    onChange(settingOf([...rest.slice(0, to), model, ...rest.slice(to)]));
  };
  const left = ids.filter((id) => !chain.includes(id));
  return (
    <ul className="card divide-y divide-line" aria-label="Models in the order they are tried">
      {chain.length === 0 && (
        <li>
          <Line label="The first provider that works" detail="No model is chosen." />
        </li>
      )}
      {chain.map((model, place) => (
        <li
          key={model}
          draggable
          onDragStart={(event) => {
            // Some browsers do not start a drag without data.
            event.dataTransfer.setData('text/plain', model);
            setDragged(place);
          }}
          onDragOver={(event) => event.preventDefault()}
          onDrop={() => (dragged !== undefined && move(dragged, place), setDragged(undefined))}
        >
          <Line
            label={<span className="font-mono text-[14px]">{model}</span>}
            detail={place === 0 ? 'Tried first' : `Tried ${place === 1 ? 'if the first fails' : 'after that'}`}
          >
            <button
              type="button"
              className="icon-btn"
              aria-label={`Move ${model} up`}
              disabled={place === 0}
              onClick={() => move(place, place - 1)}
            >
              <ArrowUp size={16} aria-hidden />
            </button>
            <button
              type="button"
              className="icon-btn"
              aria-label={`Move ${model} down`}
              disabled={place === chain.length - 1}
              onClick={() => move(place, place + 1)}
            >
              <ArrowDown size={16} aria-hidden />
            </button>
            <button
              type="button"
              className="icon-btn"
              aria-label={`Remove the model ${model}`}
              onClick={() => onChange(settingOf(chain.filter((other) => other !== model)))}
            >
              <X size={16} aria-hidden />
            </button>
          </Line>
        </li>
      ))}
      {left.length > 0 && (
        <li className="px-4 py-2.5">
          <select
            className="field"
            aria-label={chain.length === 0 ? 'Choose the default model' : 'Add a fallback model'}
            value=""
            onChange={(event) => onChange(settingOf([...chain, event.target.value]))}
          >
            <option value="" disabled>
              {chain.length === 0 ? 'Choose a model' : 'Add a fallback model'}
            </option>
            {left.map((id) => (
              <option key={id} value={id}>
                {id}
              </option>
            ))}
          </select>
        </li>
      )}
    </ul>
  );
}
