import { renderMermaidSVG } from 'beautiful-mermaid';
import DOMPurify from 'dompurify';

const LIGHT = { bg: '#FFFFFF', fg: '#1B1C1E', line: '#5C6066', accent: '#2F5BD7', muted: '#5C6066', border: '#E2E2DE' };
const DARK = { bg: '#17181B', fg: '#E7E8EA', line: '#A3A7AE', accent: '#8AB4F8', muted: '#A3A7AE', border: '#2A2C31' };

/** The diagram as SVG without anything that runs or points elsewhere. */
export async function diagramSvg(code: string, dark: boolean): Promise<string> {
  const svg = await renderMermaidSVG(code, { ...(dark ? DARK : LIGHT), font: 'system-ui', padding: 12 });
  const clean = DOMPurify.sanitize(svg, { USE_PROFILES: { svg: true, svgFilters: true }, ADD_TAGS: ['style'], FORBID_TAGS: ['a', 'image', 'script', 'foreignObject', 'use'] });
  return clean.replace(/@import[^;]*;/g, '');
}
