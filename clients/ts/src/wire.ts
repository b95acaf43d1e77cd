// The server's schemas as callers see them: the same names in camelCase.

import type { components } from './generated';

type Schemas = components['schemas'];

type CamelName<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelName<Tail>>}`
  : Name;

export type Camel<T> = T extends readonly (infer Item)[]
  ? Camel<Item>[]
  : T extends object
    ? { [Key in keyof T as Key extends string ? CamelName<Key> : Key]: Camel<T[Key]> }
    : T;

export type Schema<Name extends keyof Schemas> = Camel<Schemas[Name]>;
