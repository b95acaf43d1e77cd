import { useState } from 'react';
import type { Plugin } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { Field, Form } from '../../ui/form';

interface FieldSchema {
  type?: string;
  title?: string;
  description?: string;
}

/** A form generated from the plugin's schema. Settings without a simple field are kept unchanged. */
export function PluginSettings({ plugin, done }: { plugin: Plugin; done: (said?: string) => void }) {
  const [open, setOpen] = useState(false);
  const schema = plugin.configSchema ?? {};
  const fields = Object.entries((schema.properties ?? {}) as Record<string, FieldSchema>).filter(([, field]) =>
    ['string', 'number', 'integer'].includes(field.type ?? 'string'),
  );
  const required = (schema.required ?? []) as string[];
  const save = async (field: (name: string) => string) => {
    const config = { ...plugin.config };
    for (const [name, { type }] of fields) {
      const text = field(name);
      if (text === '') delete config[name];
      else config[name] = type === 'number' || type === 'integer' ? Number(text) : text;
    }
    await onyx.plugins.setConfig(plugin.name, config);
    setOpen(false);
    done(`Settings of ${plugin.name} saved`);
  };
  if (fields.length === 0) return null;
  if (!open) {
    return (
      <button type="button" className="btn mt-2" onClick={() => setOpen(true)}>
        Settings
      </button>
    );
  }
  return (
    <div className="card mt-2 p-4">
      <Form action="Save" onSubmit={save} onCancel={() => setOpen(false)}>
        {fields.map(([name, field]) => (
          <Field
            key={name}
            label={field.title ?? name}
            name={name}
            type={field.type === 'number' || field.type === 'integer' ? 'number' : 'text'}
            step="any"
            required={required.includes(name)}
            defaultValue={String(plugin.config[name] ?? '')}
            hint={field.description}
          />
        ))}
      </Form>
    </div>
  );
}
