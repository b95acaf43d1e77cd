import type { AgentSettings } from '@onyx/sdk';
import { useEffect } from 'react';
import { loadModels, useModels } from '../../chat/models';
import { Field } from '../../ui/form';

export const TIERS: Record<AgentSettings['tier'], { title: string; detail: string }> = {
  read: { title: 'Reads', detail: 'Reads and answers. Changes nothing.' },
  suggest: { title: 'Suggests', detail: 'Every change waits in your Inbox.' },
  act: { title: 'Acts', detail: 'Edits your files. Asks before deleting, going online or running commands.' },
};

/** A field for a model's name that suggests the known models. */
export function ModelField({ value }: { value?: string | null }) {
  const models = useModels();
  useEffect(() => void loadModels(), []);
  return (
    <>
      <Field
        label="Model"
        name="model"
        list="models"
        defaultValue={value ?? ''}
        placeholder="the default model"
        autoComplete="off"
      />
      <datalist id="models">
        {models.map((model) => (
          <option key={model} value={model} />
        ))}
      </datalist>
    </>
  );
}
