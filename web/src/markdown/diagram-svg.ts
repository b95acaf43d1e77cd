import { renderMermaidSVG } from 'beautiful-mermaid';

const LIGHT = { bg: '#FFFFFF', fg: '#1B1C1E', line: '#5C6066', accent: '#2F5BD7', muted: '#5C6066', border: '#E2E2DE' };
const DARK = { bg: '#17181B', fg: '#E7E8EA', line: '#A3A7AE', accent: '#8AB4F8', muted: '#A3A7AE', border: '#2A2C31' };

/**
 * The diagram as the address of a picture. Browsers run no script in a picture and load nothing for
 * it; a `data:` address has no origin, so it stays harmless even when somebody opens it by itself.
 */
export function diagramUrl(code: string, dark: boolean): string {
  const svg = renderMermaidSVG(byLines(code), { ...(dark ? DARK : LIGHT), font: 'system-ui', padding: 12 });
  const own = svg.replace(/@import[^;]*;/g, '');
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(own)}`;
}

/** `graph TD; A-->B;` is written on one line by many; the renderer wants a statement a line. */
function byLines(code: string): string {
  return /^\s*(graph|flowchart)\b[^\n]*;/.test(code) ? code.replaceAll(';', '\n') : code;
}
