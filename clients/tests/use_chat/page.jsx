// A minimal page with useChat: the messages, the tools, and buttons for approvals.
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';

const settings = Object.fromEntries(new URLSearchParams(location.search));

function Part({ part, decide }) {
  if (part.type === 'text') return <p className="text">{part.text}</p>;
  if (part.type !== 'dynamic-tool') return null;
  return (
    <p className="tool" data-state={part.state} data-tool={part.toolName}>
      {part.toolName} {part.state} {typeof part.output === 'string' ? part.output : ''} {part.errorText}
      {part.state === 'approval-requested' && (
        <>
          <button type="button" className="approve" onClick={() => decide(part.approval.id, true)}>
            Approve
          </button>
          <button type="button" className="deny" onClick={() => decide(part.approval.id, false)}>
            Deny
          </button>
        </>
      )}
    </p>
  );
}

function Page() {
  const [words, setWords] = useState('');
  const body = settings.agent ? { agent: settings.agent } : { model: settings.model };
  const chat = useChat({
    id: settings.chat,
    resume: settings.resume === 'yes',
    transport: new DefaultChatTransport({
      api: `${settings.onyx}/api/v1/chat`,
      headers: { Authorization: `Bearer ${settings.token}` },
      body,
    }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const decide = (id, approved) => chat.addToolApprovalResponse({ id, approved });
  const send = (event) => {
    event.preventDefault();
    chat.sendMessage({ text: words });
    setWords('');
  };
  return (
    <main data-status={chat.status}>
      <p className="error">{chat.error?.message}</p>
      {chat.messages.map((message) => (
        <section key={message.id} className={message.role} data-session={message.metadata?.sessionId}>
          {message.parts.map((part, index) => (
            <Part key={index} part={part} decide={decide} />
          ))}
        </section>
      ))}
      <form onSubmit={send}>
        <input value={words} onChange={(event) => setWords(event.target.value)} />
        <button type="submit" className="send">
          Send
        </button>
        <button type="button" className="stop" onClick={() => chat.stop()}>
          Stop
        </button>
        <button type="button" className="again" onClick={() => chat.regenerate()}>
          Again
        </button>
      </form>
    </main>
  );
}

createRoot(document.getElementById('root')).render(<Page />);
