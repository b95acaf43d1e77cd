// Draws mermaid diagrams. The library runs in the preview frame, where it can reach nothing; its result is shown only
// as a picture. It is loaded when the first diagram is drawn.

import library from 'mermaid/dist/mermaid.min.js?url';
import { whenLoaded, type PreviewFrame } from './frame';

const LIMIT_MS = 20_000;

const LIGHT = {
  theme: 'base',
  themeVariables: {
    background: '#ffffff',
    primaryColor: '#edf1fc',
    primaryTextColor: '#1b1c1e',
    primaryBorderColor: '#2f5bd7',
    lineColor: '#5c6066',
    secondaryColor: '#f3f3f1',
    tertiaryColor: '#fbfbfa',
  },
};
const DARK = {
  theme: 'base',
  darkMode: true,
  themeVariables: {
    darkMode: true,
    background: '#17181b',
    primaryColor: '#1c2740',
    primaryTextColor: '#e7e8ea',
    primaryBorderColor: '#8ab4f8',
    lineColor: '#a3a7ae',
    secondaryColor: '#2a2c31',
    tertiaryColor: '#101113',
    textColor: '#e7e8ea',
  },
};

let started: Promise<PreviewFrame> | undefined;
let count = 0;

async function start(): Promise<PreviewFrame> {
  const text = await fetch(library).then((answer) => {
    if (!answer.ok) throw new Error('The part that draws diagrams cannot be loaded.');
    return answer.text();
  });
  const element = document.createElement('iframe');
  element.title = 'Diagrams';
  element.tabIndex = -1;
  element.className = 'diagram-frame';
  element.setAttribute('aria-hidden', 'true');
  document.body.append(element);
  const frame = await new Promise<PreviewFrame>((resolve) => whenLoaded(element, resolve));
  const ready = answerOf(frame, (data) => 'ready' in data);
  frame.send({ library: text });
  await ready;
  return frame;
}

interface Answer {
  id?: number;
  svg?: string;
  failed?: string;
}

/** The frame's next message that answers this request. */
function answerOf(frame: PreviewFrame, isMeant: (data: object) => boolean): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      stop.abort();
      reject(new Error('Drawing takes too long.'));
    }, LIMIT_MS);
    const listen = ({ source, data }: MessageEvent) => {
      if (source !== frame.element.contentWindow || typeof data !== 'object' || data === null || !isMeant(data)) return;
      stop.abort();
      clearTimeout(timer);
      resolve(data as Answer);
    };
    addEventListener('message', listen, { signal: stop.signal });
  });
}

/** A frame that hangs is removed; the next diagram creates a new one. */
function forget(frame: PreviewFrame): void {
  frame.element.remove();
  started = undefined;
}

/**
 * The diagram as the address of a picture. Browsers run no script in a picture and load nothing for it; a `data:` address
 * has no origin, so it stays harmless even when it is opened in a tab.
 */
export async function diagramUrl(code: string, dark: boolean): Promise<string> {
  started ??= start().catch((error: unknown) => {
    started = undefined;
    throw error;
  });
  const frame = await started;
  count += 1;
  const id = count;
  const answer = answerOf(frame, (data) => 'id' in data && data.id === id);
  frame.send({ id, diagram: code, theme: dark ? DARK : LIGHT });
  const { svg, failed } = await answer.catch((error: unknown) => {
    forget(frame);
    throw error;
  });
  if (typeof svg !== 'string') throw new Error(failed ?? 'The text is not a diagram.');
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}
