// An Ollama server on this machine with these models, which gives the same answer to everything.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export async function ollama(models: string[], answer: string): Promise<{ port: number; end: () => void }> {
  const said = [
    { message: { role: 'assistant', content: answer }, done: false },
    {
      message: { role: 'assistant', content: '' },
      done: true,
      done_reason: 'stop',
      prompt_eval_count: 12,
      eval_count: 3,
    },
  ];
  const answers: Record<string, string> = {
    '/api/tags': JSON.stringify({ models: models.map((name) => ({ name })) }),
    '/api/chat': said.map((line) => `${JSON.stringify(line)}\n`).join(''),
  };
  const server = createServer((request, response) => {
    const body = answers[request.url ?? ''];
    request.resume().on('end', () => {
      response.writeHead(body === undefined ? 404 : 200, {
        'content-type': request.url === '/api/chat' ? 'application/x-ndjson' : 'application/json',
      });
      response.end(body ?? '{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, end: () => (server.closeAllConnections(), server.close()) };
}
