// A page looks the same in the editor as when it is read. The editor is in a shadow root, where its style sheets need
// no exception from the app's policy; the colours come from the app.

import { EditorView } from '@codemirror/view';

const heading = (size: string, line: string) => ({ fontSize: size, lineHeight: line, fontWeight: '600' });

export const theme = EditorView.theme({
  '&': { font: 'inherit', color: 'var(--text)', background: 'transparent' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { font: 'inherit', lineHeight: '24px', overflow: 'visible' },
  '.cm-content': { padding: '8px 0 96px', minHeight: '280px', caretColor: 'var(--text)' },
  '.cm-line': { padding: '0 2px', unicodeBidi: 'plaintext' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-placeholder': { color: 'var(--dim)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'color-mix(in srgb, var(--accent) 24%, transparent)',
  },
  '.cm-h': { paddingTop: '12px' },
  '.cm-h1': heading('20px', '28px'),
  '.cm-h2': heading('17px', '26px'),
  '.cm-h3, .cm-h4, .cm-h5, .cm-h6': heading('15px', '24px'),
  '.cm-strong': { fontWeight: '600' },
  '.cm-em': { fontStyle: 'italic' },
  '.cm-strike': { textDecoration: 'line-through' },
  '.cm-code, .cm-block': { fontFamily: 'var(--font-mono)', fontSize: '13px', background: 'var(--sunken)' },
  '.cm-code': { borderRadius: '4px', padding: '1px 3px' },
  '.cm-block': { padding: '0 10px' },
  '.cm-quote': { borderLeft: '3px solid var(--line)', paddingLeft: '12px', color: 'var(--dim)' },
  '.cm-link, .cm-page-link': { color: 'var(--accent)', textDecoration: 'underline', textUnderlineOffset: '3px' },
  '.cm-page-link': { cursor: 'pointer' },
  '.cm-bullet': { color: 'var(--dim)' },
  '.cm-tick': {
    width: '16px',
    height: '16px',
    margin: '0 6px 0 0',
    verticalAlign: '-2px',
    accentColor: 'var(--accent)',
  },
  '.cm-rule': { display: 'block', height: '1px', margin: '12px 0', background: 'var(--line)' },
  '.cm-picture': { maxWidth: '100%', maxHeight: '420px', borderRadius: '6px', verticalAlign: 'top' },
  '.cm-table': { overflowX: 'auto', padding: '6px 0' },
  '.cm-table table': { borderCollapse: 'collapse', fontSize: '14px', lineHeight: '22px' },
  '.cm-table th, .cm-table td': {
    border: '1px solid var(--line)',
    padding: '4px 10px',
    textAlign: 'start',
    minWidth: '48px',
    height: '31px',
  },
  '.cm-table th': { background: 'var(--sunken)', fontWeight: '600' },
  '.cm-tooltip': {
    border: '1px solid var(--line)',
    borderRadius: '10px',
    background: 'var(--surface)',
    boxShadow: '0 12px 40px rgb(0 0 0 / 0.16)',
    overflow: 'hidden',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    font: '14px/20px var(--font-sans)',
    maxHeight: 'none',
    minWidth: '240px',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '7px 12px', display: 'flex', gap: '12px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { background: 'var(--accent-soft)', color: 'var(--text)' },
  '.cm-completionLabel': { flex: '1', overflow: 'hidden', textOverflow: 'ellipsis' },
  '.cm-completionDetail': { color: 'var(--dim)', fontStyle: 'normal', marginLeft: '0', fontSize: '13px' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '600' },
  '@media (max-width: 767px)': {
    '.cm-content': { fontSize: '16px' },
    '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '12px' },
    '.cm-tick': { width: '22px', height: '22px', verticalAlign: '-5px' },
  },
});
