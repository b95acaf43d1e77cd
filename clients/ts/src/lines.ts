// Splits streams of text into lines and server-sent events.

export async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const whole = rest.split('\n');
      rest = whole.pop() ?? '';
      for (const line of whole) yield line.endsWith('\r') ? line.slice(0, -1) : line;
      if (done) {
        if (rest) yield rest;
        return;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

export interface ServerSentEvent {
  id?: string;
  event?: string;
  data: string;
}

export async function* serverSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  let id: string | undefined;
  let event: string | undefined;
  let data: string[] = [];
  for await (const line of lines(body)) {
    if (line === '') {
      if (data.length > 0) yield { id, event, data: data.join('\n') };
      event = undefined;
      data = [];
      continue;
    }
    const colon = line.indexOf(':');
    if (colon === 0) continue;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') data.push(value);
    else if (field === 'id') id = value;
    else if (field === 'event') event = value;
  }
}
