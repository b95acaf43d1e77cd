// The frame in which foreign code runs: a page of the server whose policy gives it an opaque origin, no storage and no
// network. Its messages are treated as data.

const PAGE = '/preview.html';

export interface PreviewFrame {
  element: HTMLIFrameElement;
  send: (message: object) => void;
}

/** Loads the frame and calls `ready` once its own script listens; the returned function cancels this. */
export function whenLoaded(element: HTMLIFrameElement, ready: (frame: PreviewFrame) => void): () => void {
  const stop = new AbortController();
  const listen = (event: MessageEvent) => {
    if (event.source !== element.contentWindow || !isLoaded(event.data)) return;
    stop.abort();
    // The frame's origin is opaque and cannot be named as the target; the message goes only to this window.
    ready({ element, send: (message) => element.contentWindow?.postMessage(message, '*') });
  };
  addEventListener('message', listen, { signal: stop.signal });
  element.setAttribute('sandbox', 'allow-scripts');
  element.src = PAGE;
  return () => stop.abort();
}

const isLoaded = (data: unknown) => typeof data === 'object' && data !== null && 'loaded' in data;
