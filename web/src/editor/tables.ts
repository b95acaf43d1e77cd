// A table is drawn as a table unless the cursor is in it; then Tab moves from cell to cell.

import { syntaxTree } from '@codemirror/language';
import { EditorSelection, StateField, type EditorState, type Range, type Text } from '@codemirror/state';
import { Decoration, EditorView, WidgetType, type Command, type DecorationSet } from '@codemirror/view';
import { visible } from '../ui/visible';

const RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

/** The cells of a line. An escaped bar belongs to its cell. */
export function cellsOf(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}

class Table extends WidgetType {
  constructor(readonly source: string) {
    super();
  }
  override eq(other: Table) {
    return other.source === this.source;
  }
  toDOM(view: EditorView) {
    const [head = '', , ...rows] = this.source.split('\n');
    const frame = document.createElement('div');
    frame.className = 'cm-table';
    const table = frame.appendChild(document.createElement('table'));
    table.append(row('th', cellsOf(head)), ...rows.map((line) => row('td', cellsOf(line))));
    frame.onmousedown = (event) => {
      event.preventDefault();
      view.dispatch({ selection: { anchor: placeIn(view, frame, event) }, scrollIntoView: true });
      view.focus();
    };
    return frame;
  }
  override ignoreEvent() {
    return true;
  }
}

function row(kind: 'td' | 'th', cells: string[]): HTMLTableRowElement {
  const element = document.createElement('tr');
  for (const text of cells) {
    const cell = element.appendChild(document.createElement(kind));
    cell.textContent = visible(text);
    cell.dir = 'auto';
  }
  return element;
}

/** The position in the source of the pressed cell. */
function placeIn(view: EditorView, frame: HTMLElement, event: MouseEvent): number {
  const start = view.posAtDOM(frame);
  const cell = (event.target as Element).closest('td, th');
  const shown = cell?.parentElement as HTMLTableRowElement | undefined;
  if (!cell || !shown) return start;
  const first = view.state.doc.lineAt(start).number;
  // The second line is the delimiter row, which is not drawn.
  const line = view.state.doc.line(first + (shown.rowIndex === 0 ? 0 : shown.rowIndex + 1));
  return line.from + (cellEnds(line.text)[(cell as HTMLTableCellElement).cellIndex] ?? 0);
}

/** The position in the line at which each cell's text ends. */
export function cellEnds(line: string): number[] {
  const ends: number[] = [];
  const start = /^\s*\|/.exec(line)?.[0].length ?? 0;
  for (let from = start; from < line.length; ) {
    const bar = /(?<!\\)\|/.exec(line.slice(from));
    const to = bar ? from + bar.index : line.length;
    const text = line.slice(from, to);
    if (bar || text.trim() !== '')
      ends.push(text.trim() === '' ? Math.min(from + 1, to) : from + text.trimEnd().length);
    if (!bar) break;
    from = to + 1;
  }
  return ends;
}

function decorate(state: EditorState): DecorationSet {
  const drawn: Range<Decoration>[] = [];
  syntaxTree(state).iterate({
    enter: ({ name, from, to }) => {
      if (name !== 'Table') return name === 'Document' || name === 'Blockquote';
      const isWritten = state.selection.ranges.some((range) => range.from <= to && range.to >= from);
      const isWhole = state.doc.lineAt(from).from === from && state.doc.lineAt(to).to === to;
      if (!isWritten && isWhole)
        drawn.push(
          Decoration.replace({ widget: new Table(state.doc.sliceString(from, to)), block: true }).range(from, to),
        );
      return false;
    },
  });
  return Decoration.set(drawn);
}

export const tables = StateField.define<DecorationSet>({
  create: decorate,
  update: (drawn, change) =>
    change.docChanged || change.selection || syntaxTree(change.state) !== syntaxTree(change.startState)
      ? decorate(change.state)
      : drawn,
  provide: (field) => EditorView.decorations.from(field),
});

const isTableLine = (doc: Text, number: number) =>
  number >= 1 && number <= doc.lines && doc.line(number).text.includes('|');

/** Whether this line belongs to a table (which has a delimiter row below its first line). */
function tableAt(doc: Text, number: number): { first: number; last: number } | undefined {
  if (!isTableLine(doc, number)) return undefined;
  let first = number;
  while (isTableLine(doc, first - 1)) first -= 1;
  let last = number;
  while (isTableLine(doc, last + 1)) last += 1;
  return last > first && RULE.test(doc.line(first + 1).text) ? { first, last } : undefined;
}

/** Moves to the next or previous cell; after the last one a new row is added. */
const toCell =
  (by: 1 | -1): Command =>
  (view) => {
    const { state } = view;
    const { head } = state.selection.main;
    const line = state.doc.lineAt(head);
    const table = tableAt(state.doc, line.number);
    if (!table) return false;
    const places: number[] = [];
    for (let number = table.first; number <= table.last; number += 1) {
      if (number === table.first + 1) continue;
      const { from, text } = state.doc.line(number);
      places.push(...cellEnds(text).map((end) => from + end));
    }
    const next = by === 1 ? places.find((place) => place > head) : places.findLast((place) => place < head);
    if (next !== undefined) {
      view.dispatch({ selection: EditorSelection.cursor(next), scrollIntoView: true });
      return true;
    }
    if (by === -1) return false;
    const end = state.doc.line(table.last).to;
    const count = cellEnds(state.doc.line(table.first).text).length;
    const insert = `\n|${'  |'.repeat(count)}`;
    view.dispatch({ changes: { from: end, insert }, selection: { anchor: end + 3 }, userEvent: 'input' });
    return true;
  };

export const nextCell = toCell(1);
export const previousCell = toCell(-1);
