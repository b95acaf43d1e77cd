// The frame in which foreign code runs: a page of the server whose policy gives it an origin of its own, no storage and no
// network. What it says is taken for data.

const PAGE = '/preview.html';

export interface PreviewFrame {
  element: HTMLIFrameElement;
  send: (message: object) => void;
}

/** Waits until the frame's own script listens, then lets whoever asked speak to it. */
export function whenLoaded(element: HTMLIFrameElement, ready: (frame: PreviewFrame) => void): () => void {
  const stop = new AbortController();
  const listen = (event: MessageEvent) => {
    if (event.source !== element.contentWindow || !isLoaded(event.data)) return;
    stop.abort();
    // Its origin is none, so it cannot be named; only this window is spoken to.
    ready({ element, send: (message) => element.contentWindow?.postMessage(message, '*') });
  };
  addEventListener('message', listen, { signal: stop.signal });
  element.setAttribute('sandbox', 'allow-scripts');
  element.src = PAGE;
  return () => stop.abort();
}

const isLoaded = (data: unknown) => typeof data === 'object' && data !== null && 'loaded' in data;
