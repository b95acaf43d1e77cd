/**
 * React's own runtime, before which every string that is shown passes through `visible`: what stands between two tags, and
 * what attributes say to a person. Components need not think of it, and none can forget it. Values of fields stay as they
 * are, since they are edited and sent back. What a component returns as a bare string is not seen here; the markdown
 * renderer does that, and makes its text visible before it is read (`markdown/Markdown.tsx`).
 */
import type { ElementType, Key } from 'react';
import { Fragment, jsx as plainJsx, jsxs as plainJsxs } from 'react/jsx-runtime';
import { visible } from '../ui/visible';

export type { JSX } from 'react/jsx-runtime';
export { Fragment };

type Properties = Record<string, unknown>;

const SAID = ['title', 'alt', 'aria-label', 'placeholder', 'label'];

function shown(properties: Properties): Properties {
  let changed: Properties | undefined;
  const set = (name: string, value: unknown) => {
    if (value === properties[name]) return;
    changed ??= { ...properties };
    changed[name] = value;
  };
  for (const name of SAID) if (name in properties) set(name, text(properties[name]));
  set('children', text(properties['children']));
  return changed ?? properties;
}

/** A list stays the same one where nothing in it changes: React knows it again by that. */
function text(value: unknown): unknown {
  if (typeof value === 'string') return visible(value);
  if (!Array.isArray(value)) return value;
  return value.some((one) => text(one) !== one) ? value.map(text) : value;
}

export function jsx(type: ElementType, properties: Properties, key?: Key) {
  return plainJsx(type, shown(properties), key);
}

export function jsxs(type: ElementType, properties: Properties, key?: Key) {
  return plainJsxs(type, shown(properties), key);
}

export { shown };
