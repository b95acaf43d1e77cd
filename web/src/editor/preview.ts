// Renders markdown while it is edited: marks are hidden except around the cursor. Only the visible lines are parsed.

import { syntaxTree } from '@codemirror/language';
import type { EditorState, Range } from '@codemirror/state';
import {
  Decoration,
  type EditorView,
  ViewPlugin,
  WidgetType,
  type DecorationSet,
  type ViewUpdate,
} from '@codemirror/view';
import type { SyntaxNodeRef } from '@lezer/common';
import { picture } from './pictures';

type Marks = Range<Decoration>[];

const HIDDEN = Decoration.replace({});
const INLINE: Record<string, string> = {
  StrongEmphasis: 'cm-strong',
  Emphasis: 'cm-em',
  Strikethrough: 'cm-strike',
  InlineCode: 'cm-code',
  Link: 'cm-link',
  PageLink: 'cm-page-link',
  Autolink: 'cm-link',
  URL: 'cm-link',
};
const classes = Object.fromEntries(
  [...new Set(Object.values(INLINE))].map((name) => [name, Decoration.mark({ class: name })]),
);
/** Marks that are shown and hidden with the text they belong to. */
const WITH_PARENT = new Set(['EmphasisMark', 'StrikethroughMark', 'CodeMark', 'LinkMark', 'PageLinkMark']);

class Text extends WidgetType {
  constructor(
    readonly text: string,
    readonly className: string,
  ) {
    super();
  }
  override eq(other: Text) {
    return other.text === this.text && other.className === this.className;
  }
  toDOM() {
    const element = document.createElement('span');
    element.className = this.className;
    element.textContent = this.text;
    return element;
  }
}

class Tick extends WidgetType {
  constructor(
    readonly done: boolean,
    readonly at: number,
  ) {
    super();
  }
  override eq(other: Tick) {
    return other.done === this.done && other.at === this.at;
  }
  toDOM(view: EditorView) {
    const box = document.createElement('input');
    box.type = 'checkbox';
    box.checked = this.done;
    box.className = 'cm-tick';
    box.setAttribute('aria-label', this.done ? 'done' : 'open');
    box.onchange = () =>
      view.dispatch({
        changes: { from: this.at + 1, to: this.at + 2, insert: this.done ? ' ' : 'x' },
        userEvent: 'input.tick',
      });
    return box;
  }
  override ignoreEvent() {
    return true;
  }
}

const touches = (state: EditorState, from: number, to: number) =>
  state.selection.ranges.some((range) => range.from <= to && range.to >= from);

const onLine = (state: EditorState, at: number) => {
  const line = state.doc.lineAt(at);
  return touches(state, line.from, line.to);
};

/** Styles every line of a block. */
function lines(state: EditorState, from: number, to: number, className: string, marks: Marks): undefined {
  for (let at = from; at <= to; ) {
    const line = state.doc.lineAt(at);
    marks.push(Decoration.line({ class: className }).range(line.from));
    at = line.to + 1;
  }
}

/** A heading's hashes and a quote's mark are hidden with the space after them. */
function hideWithSpace(state: EditorState, { from, to }: SyntaxNodeRef, marks: Marks): undefined {
  const space = state.doc.sliceString(to, to + 1) === ' ' ? 1 : 0;
  if (!onLine(state, from)) marks.push(HIDDEN.range(from, to + space));
}

function listMark(state: EditorState, node: SyntaxNodeRef, marks: Marks): undefined {
  const { from, to } = node;
  if (/\d/.test(state.doc.sliceString(from, to))) return;
  const isTask = node.node.nextSibling?.name === 'Task';
  if (isTask) {
    if (!touches(state, from, to)) marks.push(HIDDEN.range(from, to + 1));
  } else if (!touches(state, from, to)) {
    marks.push(Decoration.replace({ widget: new Text('•', 'cm-bullet') }).range(from, to));
  }
}

/** The text of a link without its address; of `[[Title|words]]` only the words. */
function linkParts(state: EditorState, node: SyntaxNodeRef, marks: Marks): void {
  if (touches(state, node.from, node.to)) return;
  if (node.name === 'PageLink') {
    const bar = state.doc.sliceString(node.from, node.to).indexOf('|');
    if (bar > 0) marks.push(HIDDEN.range(node.from + 2, node.from + bar + 1));
    return;
  }
  for (const name of ['URL', 'LinkTitle']) {
    const part = node.node.getChild(name);
    if (part) marks.push(HIDDEN.range(part.from, part.to));
  }
}

/** Adds the decorations of a node; returns `false` if its children have none. */
function look(state: EditorState, node: SyntaxNodeRef, marks: Marks): boolean | undefined {
  const { name, from, to } = node;
  const heading = /^(?:ATX|Setext)Heading(\d)$/.exec(name);
  if (heading) return lines(state, from, to, `cm-h cm-h${heading[1]}`, marks);
  const inline = INLINE[name];
  if (inline && to > from) {
    const mark = classes[inline];
    if (mark && !(name === 'URL' && node.node.parent?.name !== 'Paragraph')) marks.push(mark.range(from, to));
    if (name === 'Link' || name === 'PageLink') linkParts(state, node, marks);
    return;
  }
  if (WITH_PARENT.has(name)) {
    const parent = node.node.parent;
    const isFence = parent?.name === 'FencedCode';
    if (parent && !isFence && !touches(state, parent.from, parent.to)) marks.push(HIDDEN.range(from, to));
    return;
  }
  switch (name) {
    case 'HeaderMark':
      return hideWithSpace(state, node, marks);
    case 'QuoteMark':
      return hideWithSpace(state, node, marks);
    case 'Blockquote':
      return lines(state, from, to, 'cm-quote', marks);
    case 'FencedCode':
      return lines(state, from, to, 'cm-block', marks);
    case 'ListMark':
      return listMark(state, node, marks);
    case 'TaskMarker': {
      const done = /x/i.test(state.doc.sliceString(from, to));
      if (!touches(state, from, to)) marks.push(Decoration.replace({ widget: new Tick(done, from) }).range(from, to));
      return;
    }
    case 'HorizontalRule':
      if (!onLine(state, from)) marks.push(Decoration.replace({ widget: new Text('', 'cm-rule') }).range(from, to));
      return;
    case 'Image': {
      const shown = picture(state.doc.sliceString(from, to));
      if (shown && !touches(state, from, to)) marks.push(Decoration.replace({ widget: shown }).range(from, to));
      return false;
    }
    case 'Table':
      return false;
    default:
      return undefined;
  }
}

function decorate(view: EditorView): DecorationSet {
  const marks: Marks = [];
  for (const { from, to } of view.visibleRanges) {
    syntaxTree(view.state).iterate({ from, to, enter: (node) => look(view.state, node, marks) });
  }
  return Decoration.set(marks, true);
}

export const livePreview = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = decorate(view);
    }
    update(update: ViewUpdate) {
      const isRead = syntaxTree(update.state) !== syntaxTree(update.startState);
      if (update.docChanged || update.selectionSet || update.viewportChanged || isRead)
        this.decorations = decorate(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);
