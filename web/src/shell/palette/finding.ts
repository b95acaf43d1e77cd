// Scores how well an entry of the palette matches typed text: exact, prefix, prefix of a word, any part. Pure.

/** Returns how well the name matches: from 1 for the exact name to 0 for no match. */
export function fit(name: string, typed: string): number {
  const wanted = typed.trim().toLowerCase();
  const known = name.toLowerCase();
  if (wanted === '') return 0.5;
  if (known === wanted) return 1;
  if (known.startsWith(wanted)) return 0.9;
  const words = wanted.split(/\s+/);
  const places = words.map((word) => known.indexOf(word));
  if (places.some((place) => place < 0)) return 0;
  const startsWord = places.every((place) => place === 0 || !/[\p{L}\p{N}]/u.test(known[place - 1] ?? ''));
  return startsWord ? 0.7 : 0.5;
}

/** A keyword that marks hits of the server, which names do not contain. */
export const SAID = '\u0000said';

/** Scores by name (the first keyword, or the value); a hit in a chat's text or preview scores lowest. */
export function score(value: string, typed: string, keywords: string[] = []): number {
  const [name = value, more = ''] = keywords;
  const byName = fit(name, typed);
  if (byName > 0) return byName;
  return more === SAID ? 0.2 : fit(more, typed) > 0 ? 0.1 : 0;
}
