import { useEffect, useImperativeHandle, useRef, type Ref } from 'react';
import { autocompletion, startCompletion } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { syntaxTree } from '@codemirror/language';
import { EditorState } from '@codemirror/state';
import { drawSelection, EditorView, highlightSpecialChars, keymap, placeholder } from '@codemirror/view';
import { type Block, type Linkable, pageLinks, put, slashMenu } from './completions';
import { continueList, setIn, setOut } from './lists';
import { pageMarkdown } from './markdown';
import { livePreview } from './preview';
import { nextCell, previousCell, tables } from './tables';
import { theme } from './theme';

export interface PageEditorHandle {
  insert: (block: Block) => void;
  /** Inserts files at the cursor. */
  insertFiles: (files: File[]) => void;
  focus: () => void;
}

interface Props {
  label: string;
  text: string;
  /** True while the text has unsaved changes; then a text from outside does not replace it. */
  own: boolean;
  onChange: (text: string) => void;
  /** What can be linked to. */
  pages: () => Promise<Linkable[]>;
  /** Called when a link to a page is followed. */
  onOpen: (title: string) => void;
  /** Saves the picture and returns its markdown, or nothing if it was refused. */
  keepPicture: (file: File) => Promise<string | undefined>;
  pickPicture: () => void;
  handle: Ref<PageEditorHandle>;
}

/** The markdown editor, in a shadow root so that its style sheets need no exception from the app's policy. */
export default function PageEditor(props: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  // The editor calls the newest callbacks without being rebuilt.
  const current = useRef(props);
  current.current = props;
  const typed = useRef(0);
  useEffect(() => {
    if (!host.current) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open', delegatesFocus: true });
    const made = create(root, current, () => (typed.current += 1));
    view.current = made;
    return () => {
      view.current = null;
      made.destroy();
    };
  }, []);
  // The person may type between the drawing of a text and this effect: the screen is newer than the drawn text.
  const typedWhenDrawn = typed.current;
  useEffect(() => {
    const { current: shown } = view;
    if (shown && !props.own && typed.current === typedWhenDrawn) show(shown, props.text);
  }, [props.text, props.own]);
  useImperativeHandle(props.handle, () => ({
    insert: (block) => view.current && insertBlock(view.current, block, current.current.pickPicture),
    insertFiles: (files) => view.current && void take(view.current, files, current.current.keepPicture),
    focus: () => view.current?.focus(),
  }));
  return <div ref={host} className="page-editor" />;
}

/** Whether the text from outside is another one. A difference in the last empty lines does not count. */
function show(view: EditorView, text: string): void {
  const known = view.state.doc.toString();
  if (known === text || known.trimEnd() === text.trimEnd()) return;
  let from = 0;
  while (from < known.length && from < text.length && known[from] === text[from]) from += 1;
  let end = 0;
  const most = Math.min(known.length, text.length) - from;
  while (end < most && known.at(-1 - end) === text.at(-1 - end)) end += 1;
  view.dispatch({ changes: { from, to: known.length - end, insert: text.slice(from, text.length - end) } });
}

function insertBlock(view: EditorView, block: Block, pickPicture: () => void): void {
  const { head } = view.state.selection.main;
  const line = view.state.doc.lineAt(head);
  const isInline = block.text === '[[';
  if (block.text !== undefined && !isInline && line.text.trim() !== '') {
    // A block starts on its own line.
    view.dispatch({ changes: { from: line.to, insert: '\n\n' }, selection: { anchor: line.to + 2 } });
    put(view, block, line.to + 2, line.to + 2);
  } else put(view, block, head, head);
  if (isInline) startCompletion(view);
  if (block.text === undefined) pickPicture();
}

/** Saves pictures one after the other and inserts them where the cursor was. */
async function take(view: EditorView, files: Iterable<File>, keep: Props['keepPicture']): Promise<void> {
  for (const file of files) {
    const markdown = await keep(file);
    if (markdown === undefined) continue;
    const { head } = view.state.selection.main;
    const isStart = view.state.doc.lineAt(head).from === head;
    const insert = `${isStart ? '' : '\n'}${markdown}\n`;
    view.dispatch({
      changes: { from: head, insert },
      selection: { anchor: head + insert.length },
      scrollIntoView: true,
      userEvent: 'input.paste',
    });
  }
}

const filesOf = (data: DataTransfer | null) => [...(data?.files ?? [])];

/** The link to a page at a place. */
function linkAt(state: EditorState, at: number): string | undefined {
  for (let node: ReturnType<typeof nodeAt> | null = nodeAt(state, at); node; node = node.parent) {
    if (node.name !== 'PageLink') continue;
    const inside = state.doc.sliceString(node.from + 2, node.to - 2);
    return inside.split(/[|#]/, 1)[0]?.trim();
  }
  return undefined;
}
const nodeAt = (state: EditorState, at: number) => syntaxTree(state).resolveInner(at, 1);

/** The props of the moment. */
interface Current {
  current: Props;
}

/** Files that are dropped or pasted, and presses on links. */
function pointerAndFiles(current: Current) {
  return EditorView.domEventHandlers({
    drop: (event, view) => {
      const files = filesOf(event.dataTransfer);
      if (files.length === 0) return false;
      event.preventDefault();
      const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
      if (at !== null) view.dispatch({ selection: { anchor: at } });
      void take(view, files, current.current.keepPicture);
      return true;
    },
    paste: (event, view) => {
      const files = filesOf(event.clipboardData);
      if (files.length === 0) return false;
      event.preventDefault();
      void take(view, files, current.current.keepPicture);
      return true;
    },
    mousedown: (event, view) => {
      if (event.button !== 0 || !(event.target as Element).closest?.('.cm-page-link')) return false;
      const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
      const title = at === null ? undefined : linkAt(view.state, at);
      // A press inside the link that the cursor is in edits it; a press on another link follows it.
      const isWritten = view.hasFocus && at !== null && linkAt(view.state, view.state.selection.main.head) === title;
      if (title === undefined || isWritten) return false;
      event.preventDefault();
      current.current.onOpen(title);
      return true;
    },
  });
}

function create(root: ShadowRoot, current: Current, onTyped: () => void): EditorView {
  const follow = (view: EditorView) => {
    const title = linkAt(view.state, view.state.selection.main.head);
    if (title) current.current.onOpen(title);
    return title !== undefined;
  };
  return new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: current.current.text,
      extensions: [
        history(),
        drawSelection(),
        highlightSpecialChars(),
        EditorView.lineWrapping,
        pageMarkdown,
        tables,
        livePreview,
        theme,
        pointerAndFiles(current),
        placeholder('Write here. Type / for headings, lists, tables and pictures.'),
        EditorView.contentAttributes.of({
          'aria-label': current.current.label,
          spellcheck: 'true',
          autocapitalize: 'on',
        }),
        autocompletion({
          // Enter chooses the entry even if the list has only just opened.
          interactionDelay: 0,
          override: [
            slashMenu(() => current.current.pickPicture(), startCompletion),
            pageLinks(() => current.current.pages()),
          ],
          icons: false,
          maxRenderedOptions: 12,
        }),
        keymap.of([
          { key: 'Tab', run: nextCell },
          { key: 'Shift-Tab', run: previousCell },
          { key: 'Tab', run: setIn, shift: setOut },
          { key: 'Enter', run: continueList },
          { key: 'Mod-Enter', run: follow },
          ...historyKeymap,
          ...defaultKeymap,
        ]),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          onTyped();
          current.current.onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
}
