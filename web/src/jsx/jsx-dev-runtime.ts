/** The same runtime for development builds. */
import type { ElementType, Key } from 'react';
import { Fragment, jsxDEV as plainJsx } from 'react/jsx-dev-runtime';
import { shown } from './jsx-runtime';

export type { JSX } from 'react/jsx-dev-runtime';
export { Fragment };

type Plain = (
  type: ElementType,
  properties: Record<string, unknown>,
  key: Key | undefined,
  isStatic: boolean,
  source: unknown,
  self: unknown,
) => unknown;

export function jsxDEV(...[type, properties, key, isStatic, source, self]: Parameters<Plain>): unknown {
  return (plainJsx as Plain)(type, shown(properties), key, isStatic, source, self);
}
