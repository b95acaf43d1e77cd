// The HTTP wire is snake_case; callers are not. What people, models and tools wrote stays as it is.

const OPAQUE = new Set(['input', 'args', 'data', 'arguments', 'headers', 'fields']);

const camel = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function rename(value: unknown, name: (key: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => rename(item, name));
  if (value === null || typeof value !== 'object') return value;
  const renamed: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    renamed[name(key)] = OPAQUE.has(key) ? inner : rename(inner, name);
  }
  return renamed;
}

export function fromWire<T>(value: unknown): T {
  return rename(value, camel) as T;
}

export function toWire(value: unknown): unknown {
  return rename(value, snake);
}
