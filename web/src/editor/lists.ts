// Enter continues a list, or ends it at an empty item; Tab indents an item.

import type { Command } from '@codemirror/view';

const ITEM = /^(\s*)(?:([-*+])|(\d{1,9})([.)]))(\s+)(\[[ xX]\]\s)?|^(\s*>\s?)/;

export const continueList: Command = (view) => {
  const { state } = view;
  const { main } = state.selection;
  if (!main.empty || state.selection.ranges.length > 1) return false;
  const line = state.doc.lineAt(main.head);
  const match = ITEM.exec(line.text);
  if (!match || main.head - line.from < match[0].length) return false;
  if (line.text.slice(match[0].length).trim() === '') {
    // An empty line must follow the list; otherwise the next text would belong to its last item.
    const isFirst = line.number === 1;
    view.dispatch({
      changes: { from: line.from, to: line.to, insert: isFirst ? '' : '\n' },
      selection: { anchor: line.from + (isFirst ? 0 : 1) },
      userEvent: 'input',
    });
    return true;
  }
  const [, indent = '', bullet, number, dot = '', space = ' ', task, quote] = match;
  const next = quote ?? `${indent}${bullet ?? `${Number(number) + 1}${dot}`}${space}${task ? '[ ] ' : ''}`;
  const insert = `\n${next}`;
  view.dispatch({
    changes: { from: main.head, insert },
    selection: { anchor: main.head + insert.length },
    scrollIntoView: true,
    userEvent: 'input',
  });
  return true;
};

const shift =
  (by: 'in' | 'out'): Command =>
  (view) => {
    const line = view.state.doc.lineAt(view.state.selection.main.head);
    const item = ITEM.exec(line.text);
    if (!item || item[7] !== undefined) return false;
    const has = /^ {1,2}/.exec(line.text)?.[0].length ?? 0;
    if (by === 'out' && has === 0) return false;
    view.dispatch({
      changes: by === 'in' ? { from: line.from, insert: '  ' } : { from: line.from, to: line.from + has },
      userEvent: 'input',
    });
    return true;
  };

export const setIn = shift('in');
export const setOut = shift('out');
