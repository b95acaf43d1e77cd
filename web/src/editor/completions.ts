// What is offered while one writes: blocks after `/` at the start of a line, pages after `[[`.

import type { Completion, CompletionContext, CompletionResult, CompletionSource } from '@codemirror/autocomplete';
import type { EditorView } from '@codemirror/view';

export interface Linkable {
  title: string;
  /** Its kind: page, task, ref or project. */
  kind: string;
}

export interface Block {
  label: string;
  detail: string;
  /** The inserted text; `|` marks the cursor. Absent: the person chooses something first. */
  text?: string;
}

const TABLE = '| | | |\n| --- | --- | --- |\n|  |  |  |\n|  |  |  |';

/** The blocks offered by the slash menu and by the Insert button. */
export const BLOCKS: Block[] = [
  { label: 'Heading', detail: 'Large', text: '# ' },
  { label: 'Smaller heading', detail: 'Medium', text: '## ' },
  { label: 'Smallest heading', detail: 'Small', text: '### ' },
  { label: 'Bulleted list', detail: '- item', text: '- ' },
  { label: 'Numbered list', detail: '1. item', text: '1. ' },
  { label: 'To-do', detail: 'With a box to tick', text: '- [ ] ' },
  { label: 'Table', detail: 'Tab goes to the next cell', text: TABLE },
  { label: 'Quote', detail: '> words', text: '> ' },
  { label: 'Code', detail: 'Code block', text: '```\n|\n```' },
  { label: 'Divider', detail: 'Horizontal line', text: '---\n' },
  { label: 'Picture', detail: 'From this device' },
  { label: 'Link to a page', detail: '[[title]]', text: '[[' },
];

/** Replaces a range by a block and places the cursor at the block's `|`. */
export function put(view: EditorView, block: Block, from: number, to: number): void {
  const { text = '' } = block;
  const isTable = text === TABLE;
  const gap = isTable ? -1 : text.indexOf('|');
  const insert = gap < 0 ? text : text.slice(0, gap) + text.slice(gap + 1);
  const cursor = from + (isTable ? 2 : gap < 0 ? insert.length : gap);
  view.dispatch({
    changes: { from, to, insert },
    selection: { anchor: cursor },
    scrollIntoView: true,
    userEvent: 'input',
  });
  view.focus();
}

export function slashMenu(pickPicture: () => void, startLinks: (view: EditorView) => void): CompletionSource {
  return (context: CompletionContext): CompletionResult | null => {
    const line = context.state.doc.lineAt(context.pos);
    const typed = /^\s*\/([\p{L}-]*)$/u.exec(line.text.slice(0, context.pos - line.from));
    if (!typed) return null;
    const from = context.pos - (typed[1]?.length ?? 0) - 1;
    const options = BLOCKS.map(
      (block): Completion => ({
        label: `/${block.label}`,
        displayLabel: block.label,
        detail: block.detail,
        apply: (view, _, start, end) => {
          put(view, block, start, end);
          if (block.text === undefined) pickPicture();
          if (block.text === '[[') startLinks(view);
        },
      }),
    );
    return { from, options, validFor: /^\/[\p{L}-]*$/u };
  };
}

export function pageLinks(pages: () => Promise<Linkable[]>): CompletionSource {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const typed = context.matchBefore(/\[\[[^[\]\n]*/);
    if (!typed) return null;
    const options = (await pages()).map(
      ({ title, kind }): Completion => ({
        label: title,
        detail: kind,
        apply: (view, _, start, end) => {
          const closed = view.state.doc.sliceString(end, end + 2) === ']]' ? 2 : 0;
          const insert = `${title}]]`;
          view.dispatch({
            changes: { from: start, to: end + closed, insert },
            selection: { anchor: start + insert.length },
          });
        },
      }),
    );
    return options.length === 0 ? null : { from: typed.from + 2, options, validFor: /^[^[\]\n]*$/ };
  };
}
