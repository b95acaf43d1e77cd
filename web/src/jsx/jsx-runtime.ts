/**
 * Wraps React's runtime and passes every shown string through `visible`: text between tags, and attributes that people
 * read. No component can forget it. Values of fields are not changed, because they are edited and sent back. A bare
 * string that a component returns does not pass here; only the markdown renderer returns one, and it makes its text
 * visible itself (`markdown/Markdown.tsx`).
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

/** A list without changes is returned as the same object, because React compares lists by identity. */
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
