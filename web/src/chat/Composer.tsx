import { useEffect, useRef, type ClipboardEvent, type DragEvent, type KeyboardEvent, type ReactNode } from 'react';
import { ArrowUp, Square } from 'lucide-react';
import { questionIn } from '../store/drafts';
import { usePreferences } from '../store/preferences';
import { useStore } from '../store/state';
import { isTouch, sendsByKey } from '../ui/keyboard';
import type { Density } from './density';
import { Gauge } from './Gauge';
import { AttachmentList } from './AttachmentList';
import { DeliveryMenu } from './ComposerMenus';
import { ComposerTools } from './ComposerTools';
import { useMentions } from './Mentions';
import type { Named } from './mentions';
import { useWrittenMessage, type Writing } from './useWrittenMessage';

export interface ComposerProps extends Writing {
  agent?: string;
  onAgent?: (agent: string) => void;
  /** The agent pinned for new chats, where that can be chosen; empty: the default agent. */
  pinnedAgent?: string;
  onPinAgent?: (agent?: string) => void;
  /** Outside the chat page the composer takes only text, without the choice of model and agent. */
  density?: Density;
  placeholder?: string;
  /** The agents that can be called with `@name`. */
  mentions?: Named[];
  /** A remark about the message while it is written. */
  note?: (words: string) => ReactNode;
  /** The name of the addressee, if that is not one of the agents. */
  to?: string;
}

export function Composer(props: ComposerProps) {
  const { draftKey, sessionId, agent, onAgent, pinnedAgent, onPinAgent, density = 'page', mentions, note, to } = props;
  const message = useWrittenMessage(props);
  const { text, setText, attachments, empty, halt, send } = message;
  const area = useRef<HTMLTextAreaElement>(null);
  const running = useStore((state) => sessionId !== undefined && state.conversations[sessionId]?.live !== undefined);
  const asked = useStore((state) => questionIn(state, sessionId) !== undefined);
  const agents = useStore((state) => state.status?.agents);
  const { delivery: preferred, sendWith } = usePreferences();
  const isPage = density === 'page';
  // Only a chat can be steered; elsewhere a message waits for the running answer.
  const delivery = isPage ? preferred : 'follow_up';
  const chosen = agents?.find((candidate) => candidate.id === agent) ?? agents?.find((candidate) => candidate.default);

  useEffect(() => fit(area.current), [text]);
  useEffect(() => {
    if (isPage && matchMedia('(min-width: 768px)').matches) area.current?.focus();
  }, [draftKey, isPage]);

  const named = useMentions(area, text, setText, mentions);
  const onKeyDown = (event: KeyboardEvent) => {
    if (named.onKeyDown(event)) return;
    if (!sendsByKey(event, sendWith)) return;
    event.preventDefault();
    void send();
  };
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    if (files.length === 0 || !isPage) return;
    event.preventDefault();
    void attachments.add(files);
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    if (isPage) void attachments.add(event.dataTransfer.files);
  };
  const name = to ?? chosen?.name ?? 'your agent';
  const usual = props.placeholder ?? `${sessionId ? 'Reply to' : 'Message'} ${name}`;
  const duringRun = delivery === 'steer' ? `Steer ${name}` : 'Queue a message';
  const hint = asked ? `Answer ${name}` : running ? duringRun : usual;
  return (
    <form
      data-density={density}
      className="relative mx-auto w-full max-w-[760px] rounded-lg border border-line bg-surface px-3 pt-2.5 pb-2.5 transition-colors focus-within:border-dim/60"
      onSubmit={(event) => (event.preventDefault(), void send())}
      onDragOver={(event) => event.preventDefault()}
      onDrop={onDrop}
    >
      {named.list}
      <AttachmentList of={attachments} />
      <textarea
        ref={area}
        id="composer"
        rows={1}
        dir="auto"
        aria-label={`Message ${name}`}
        placeholder={hint}
        className="block max-h-[40vh] min-h-8 w-full resize-none bg-transparent px-1 pt-0.5 pb-1.5 text-[16px] leading-6 outline-none placeholder:text-dim md:text-body"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onSelect={named.onCaret}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
        enterKeyHint={isTouch() ? 'enter' : 'send'}
        {...named.field}
      />
      <div className="mt-1 flex items-center gap-2">
        {isPage && (
          <ComposerTools
            message={message}
            sessionId={sessionId}
            agentMenu={{ name, agents, chosen, onAgent, pinnedAgent, onPinAgent }}
          />
        )}
        <span className="min-w-0 flex-1 truncate px-1 text-meta text-dim" role={note && 'status'}>
          {note?.(text)}
        </span>
        {running && isPage && <DeliveryMenu />}
        <Gauge sessionId={sessionId} />
        {running && empty ? (
          <StopButton onClick={halt} />
        ) : (
          <SendButton disabled={empty || attachments.storing} during={running ? delivery : undefined} />
        )}
      </div>
    </form>
  );
}

function StopButton({ onClick }: { onClick: () => void }) {
  return (
    <button type="button" className="btn" onClick={onClick} aria-label="Stop">
      <Square size={12} fill="currentColor" aria-hidden /> Stop
    </button>
  );
}

/** Sends the message; `during` says when it is read while an answer is running. */
function SendButton({ disabled, during }: { disabled: boolean; during?: 'steer' | 'follow_up' }) {
  return (
    <button type="submit" className="btn btn-primary" disabled={disabled}>
      <span className="hidden md:inline">{during ? (during === 'steer' ? 'Steer' : 'Queue') : 'Send'}</span>
      <ArrowUp size={16} className="md:hidden" aria-hidden />
      <span className="sr-only md:hidden">Send</span>
    </button>
  );
}

function fit(area: HTMLTextAreaElement | null): void {
  if (!area) return;
  area.style.height = 'auto';
  area.style.height = `${area.scrollHeight}px`;
}
