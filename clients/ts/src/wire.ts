// The server's schemas. Answers come in camelCase, because every request asks for that spelling (see `http.ts`); what is
// sent is spelled as the server documents it.

import type { components } from './generated.js';

type Schemas = components['schemas'];

type CamelName<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelName<Tail>>}`
  : Name;

export type Camel<T> = T extends readonly (infer Item)[]
  ? Camel<Item>[]
  : T extends object
    ? { [Key in keyof T as Key extends string ? CamelName<Key> : Key]: Camel<T[Key]> }
    : T;

/** A request, with the names used on the wire. */
export type Sent<Name extends keyof Schemas> = Schemas[Name];

/** The parameters of an address. An absent one is left out, never sent as null. */
export type Query<Name extends keyof Schemas> = {
  [Key in keyof Schemas[Name]]?: NonNullable<Schemas[Name][Key]>;
};

/** The server's answer, with the names that callers see. */
export type Schema<Name extends keyof Schemas> = Camel<Schemas[Name]>;
