import {
  useEffect,
  useRef,
  useState,
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
} from 'react';
import { ArrowUp, FileText, Pin, PinOff, Square, X } from 'lucide-react';
import type { UserContent } from '@onyx/sdk';
import { stop } from '../store/actions';
import { questionIn } from '../store/drafts';
import { keep, readKept } from '../store/kept';
import { usePreferences } from '../store/preferences';
import { toast, useStore } from '../store/state';
import { FileButton } from '../ui/FileButton';
import { isTouch, sendsByKey } from '../ui/keyboard';
import { Menu } from '../ui/Menu';
import type { Density } from './density';
import { Gauge } from './Gauge';
import { ActionChips } from '../pages/actions/Chips';
import { attempt } from '../ui/act';
import { readFiles, store, type AttachedFile } from './attachments';
import { isImage, readImages, type Picture } from './images';
import { useMentions } from './Mentions';
import type { Named } from './mentions';
import { loadModels, shortModel, useModels } from './models';

export interface ComposerProps {
  /** The key under which unsent text is kept. */
  draftKey: string;
  /** Files that are attached when the composer opens. */
  files?: File[];
  sessionId?: string;
  agent?: string;
  onAgent?: (agent: string) => void;
  /** The agent pinned for new chats, where that can be chosen; empty: the default agent. */
  pinnedAgent?: string;
  onPinAgent?: (agent?: string) => void;
  onSend: (content: UserContent, model?: string) => void;
  /** Outside the chat page the composer takes only text, without the choice of model and agent. */
  density?: Density;
  placeholder?: string;
  /** The agents that can be called with `@name`. */
  mentions?: Named[];
  /** A remark about the message while it is written. */
  note?: (words: string) => ReactNode;
  /** Stops the running answer, where the page stops it differently from a chat. */
  onStop?: () => void;
  /** The name of the addressee, if that is not one of the agents. */
  to?: string;
}

export function Composer({
  draftKey,
  files: given,
  sessionId,
  agent,
  onAgent,
  pinnedAgent,
  onPinAgent,
  onSend,
  density = 'page',
  placeholder,
  mentions,
  note,
  onStop,
  to,
}: ComposerProps) {
  const kept = `onyx.draft.${draftKey}`;
  const [text, setText] = useState(() => readKept(kept, ''));
  const [pictures, setPictures] = useState<Picture[]>([]);
  const [attached, setAttached] = useState<AttachedFile[]>([]);
  const [storing, setStoring] = useState(false);
  const [model, setModel] = useState<string>();
  const area = useRef<HTMLTextAreaElement>(null);
  const running = useStore((state) => sessionId !== undefined && state.conversations[sessionId]?.live !== undefined);
  const asked = useStore((state) => questionIn(state, sessionId) !== undefined);
  const agents = useStore((state) => state.status?.agents);
  const { delivery: preferred, sendWith } = usePreferences();
  const isPage = density === 'page';
  // Only a chat can be steered; elsewhere a message waits for the running answer.
  const delivery = isPage ? preferred : 'follow_up';
  const chosen = agents?.find((candidate) => candidate.id === agent) ?? agents?.find((candidate) => candidate.default);

  useEffect(() => keep(kept, text === '' ? undefined : text), [kept, text]);
  useEffect(() => fit(area.current), [text]);
  useEffect(() => {
    if (isPage && matchMedia('(min-width: 768px)').matches) area.current?.focus();
  }, [draftKey, isPage]);

  const named = useMentions(area, text, setText, mentions);
  const halt = () => (onStop ? onStop() : sessionId && void stop(sessionId));
  const empty = text.trim() === '' && pictures.length + attached.length === 0;
  const add = async (files: Iterable<File>) => {
    const all = [...files];
    const images = await readImages(all.filter(isImage));
    const others = await readFiles(all.filter((file) => !isImage(file)));
    setPictures((known) => [...known, ...images]);
    setAttached((known) => [...known, ...others.files]);
    for (const why of others.refused) toast(why, { tone: 'danger' });
  };
  useEffect(() => {
    if (given) void add(given);
  }, [given]);
  const send = async () => {
    const said = text.trim();
    if (said === '/stop' && sessionId) {
      halt();
      return setText('');
    }
    if (empty || storing) return;
    setStoring(true);
    const files = attached.length === 0 ? [] : await attempt('The files were not attached', () => store(attached));
    setStoring(false);
    if (!files) return;
    const images = pictures.map(({ mediaType, data }) => ({ type: 'image' as const, mediaType, data }));
    const parts = [...images, ...files];
    onSend(parts.length > 0 ? [{ type: 'text', text: said }, ...parts] : said, model);
    setText('');
    setPictures([]);
    setAttached([]);
  };
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
    void add(files);
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    if (isPage) void add(event.dataTransfer.files);
  };
  const name = to ?? chosen?.name ?? 'your agent';
  const isPinned = chosen !== undefined && chosen.id === pinnedAgent;
  return (
    <form
      data-density={density}
      className="relative mx-auto w-full max-w-[760px] rounded-lg border border-line bg-surface px-3 pt-2.5 pb-2.5 transition-colors focus-within:border-dim/60"
      onSubmit={(event) => (event.preventDefault(), void send())}
      onDragOver={(event) => event.preventDefault()}
      onDrop={onDrop}
    >
      {named.list}
      {pictures.length + attached.length > 0 && (
        <ul className="mb-2 flex flex-wrap gap-2" aria-label="Attachments">
          {pictures.map((picture, index) => (
            <li key={picture.url} className="relative">
              <img
                src={picture.url}
                alt={picture.name}
                className="size-16 rounded-sm border border-line object-cover"
              />
              <Take
                name={picture.name}
                className="absolute -top-1.5 -right-1.5 bg-surface"
                onClick={() => setPictures(pictures.filter((_, at) => at !== index))}
              />
            </li>
          ))}
          {attached.map((file, index) => (
            <li key={`${file.name} ${index}`} className="chip">
              <FileText size={14} className="shrink-0" aria-hidden />
              <span className="truncate" title={file.name}>
                {file.name}
              </span>
              <Take name={file.name} onClick={() => setAttached(attached.filter((_, at) => at !== index))} />
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={area}
        id="composer"
        rows={1}
        dir="auto"
        aria-label={`Message ${name}`}
        placeholder={
          asked
            ? `Answer ${name}`
            : running
              ? delivery === 'steer'
                ? `Steer ${name}`
                : 'Queue a message'
              : (placeholder ?? `${sessionId ? 'Reply to' : 'Message'} ${name}`)
        }
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
        {isPage &&
          (onAgent && agents && agents.length > 1 ? (
            <Menu
              label="Agent"
              className="chip"
              side="above"
              entries={[
                ...agents.map((entry) => ({
                  label: entry.name,
                  detail: entry.model ?? undefined,
                  checked: entry.id === chosen?.id,
                  run: () => onAgent(entry.id),
                })),
                ...(onPinAgent && chosen
                  ? [
                      {
                        label: isPinned ? `Stop starting with ${chosen.name}` : `Always start with ${chosen.name}`,
                        detail: isPinned ? 'New chats use the default agent again' : 'For new chats in this browser',
                        icon: isPinned ? <PinOff size={15} aria-hidden /> : <Pin size={15} aria-hidden />,
                        run: () => onPinAgent(isPinned ? undefined : chosen.id),
                      },
                    ]
                  : []),
              ]}
            >
              {name}
            </Menu>
          ) : (
            <span className="chip">{name}</span>
          ))}
        {isPage && (
          <>
            <ModelMenu own={chosen?.model ?? undefined} chosen={model} onModel={setModel} />
            <FileButton
              label="Attach files"
              title="Attach images and texts"
              className="-ml-1"
              onFiles={(files) => void add(files)}
            />
            <ActionChips sessionId={sessionId} text={text} onTaken={() => setText('')} />
          </>
        )}
        <span className="min-w-0 flex-1 truncate px-1 text-meta text-dim" role={note && 'status'}>
          {note?.(text)}
        </span>
        {running && isPage && <DeliveryMenu />}
        <Gauge sessionId={sessionId} />
        {running && empty ? (
          <button type="button" className="btn" onClick={halt} aria-label="Stop">
            <Square size={12} fill="currentColor" aria-hidden /> Stop
          </button>
        ) : (
          <button type="submit" className="btn btn-primary" disabled={empty || storing}>
            <span className="hidden md:inline">{running ? (delivery === 'steer' ? 'Steer' : 'Queue') : 'Send'}</span>
            <ArrowUp size={16} className="md:hidden" aria-hidden />
            <span className="sr-only md:hidden">Send</span>
          </button>
        )}
      </div>
    </form>
  );
}

function Take({ name, className = '', onClick }: { name: string; className?: string; onClick: () => void }) {
  return (
    <button
      type="button"
      aria-label={`Remove ${name}`}
      className={`flex size-5 shrink-0 items-center justify-center rounded-full border border-line ${className}`}
      onClick={onClick}
    >
      <X size={12} aria-hidden />
    </button>
  );
}

/** Chooses the agent's own model or another known model. */
function ModelMenu({ own, chosen, onModel }: { own?: string; chosen?: string; onModel: (model?: string) => void }) {
  const known = useModels();
  const owner = useStore((state) => state.me?.role === 'owner');
  if (!own) return null;
  const models = [own, ...known.filter((model) => model !== own)];
  const shown = chosen ?? own;
  if (models.length < 2 && !owner) {
    return (
      <span className="chip hidden sm:inline-flex" title={own}>
        {shortModel(own)}
      </span>
    );
  }
  const entries = models.map((model) => ({
    label: shortModel(model),
    detail: model === own ? 'The agent’s own' : model,
    checked: model === shown,
    run: () => onModel(model === own ? undefined : model),
  }));
  return (
    <Menu
      label="Model"
      className="chip max-sm:max-w-28"
      side="above"
      entries={entries}
      onOpen={() => void loadModels()}
    >
      {shortModel(shown)}
    </Menu>
  );
}

function DeliveryMenu() {
  const { delivery } = usePreferences();
  const set = (value: typeof delivery) => () => usePreferences.setState({ delivery: value });
  return (
    <Menu
      label="While the agent works"
      className="chip hidden md:inline-flex"
      side="above"
      entries={[
        {
          label: 'Steer',
          detail: 'Your message is read after the current step',
          checked: delivery === 'steer',
          run: set('steer'),
        },
        {
          label: 'Queue',
          detail: 'Your message waits until this answer is done',
          checked: delivery === 'follow_up',
          run: set('follow_up'),
        },
      ]}
    >
      {delivery === 'steer' ? 'Steer' : 'Queue'}
    </Menu>
  );
}

function fit(area: HTMLTextAreaElement | null): void {
  if (!area) return;
  area.style.height = 'auto';
  area.style.height = `${area.scrollHeight}px`;
}
