const HUES = 5;

/** An agent's colour, the same everywhere; the default agent has the first. */
export function hueOf(agent: string): string {
  if (agent === 'main') return 'var(--hue-1)';
  let sum = 0;
  for (const letter of agent) sum = (sum * 31 + letter.charCodeAt(0)) % 997;
  return `var(--hue-${(sum % HUES) + 1})`;
}
