// A foreign page: the AI SDK's own hook with `/api/v1/chat`, without code of ours.

import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';
import { createRoot } from 'react-dom/client';

const token = new URLSearchParams(location.search).get('token') ?? '';

function Page() {
  const chat = useChat({
    transport: new DefaultChatTransport({ api: '/api/v1/chat', headers: { authorization: `Bearer ${token}` } }),
  });
  const said = (model?: string) =>
    document.querySelector('input')?.value
      ? void chat.sendMessage({ text: document.querySelector('input')?.value ?? '' }, { body: { model } })
      : undefined;
  return (
    <>
      <p data-testid="status">{chat.status}</p>
      <p data-testid="error">{chat.error?.message}</p>
      <input aria-label="Words" />
      <button onClick={() => said()}>Send</button>
      <button onClick={() => said('nobody')}>Send to nobody</button>
      <button onClick={() => void chat.stop()}>Stop</button>
      <button onClick={() => void chat.regenerate()}>Again</button>
      <pre data-testid="messages">
        {JSON.stringify(chat.messages.map(({ role, parts, metadata }) => ({ role, parts, metadata })))}
      </pre>
    </>
  );
}

createRoot(document.body.appendChild(document.createElement('main'))).render(<Page />);
