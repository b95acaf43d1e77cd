// Reads a change of a page or task (title, fields, body) from the diff of its file. Pure.

export interface DocumentChange {
  kind: 'page' | 'task' | 'ref' | 'project';
  isNew: boolean;
  /** Absent if the diff does not show it. */
  title?: string;
  fields: FieldChange[];
  /** The lines of the body in the diff, each added, removed or kept. */
  body: { change: 'same' | 'added' | 'removed'; text: string }[];
}

export interface FieldChange {
  name: string;
  before?: string;
  after?: string;
}

const PLACE = /(?:^|\/)spaces\/[^/]+\/(page|task|ref|project)s\/[^/]+\.md$/;
const FENCE = '---';
/** Fields that matter to no decision; only the file's diff shows them. */
const KEPT_BY_ONYX = new Set(['id', 'created', 'updated', 'origin']);
const HUNK = /^@@ -(\d+)/;

/** The document change that a diff describes; `undefined` if the file belongs to no space. */
export function documentIn(path: string, unified: string): DocumentChange | undefined {
  const kind = PLACE.exec(path)?.[1] as DocumentChange['kind'] | undefined;
  if (!kind) return undefined;
  const lines = linesOf(unified);
  const { front, body } = parted(lines);
  const before = fieldsOf(front.filter(({ change }) => change !== 'added'));
  const after = fieldsOf(front.filter(({ change }) => change !== 'removed'));
  const names = [...new Set([...before.keys(), ...after.keys()])];
  const fields = names
    .filter((name) => !KEPT_BY_ONYX.has(name) && before.get(name) !== after.get(name))
    .map((name) => ({ name, before: before.get(name), after: after.get(name) }));
  const isNew = lines.length > 0 && lines.every(({ change }) => change === 'added');
  const title = after.get('title') ?? before.get('title');
  return {
    kind,
    isNew,
    title,
    fields: fields.filter(({ name, before: was }) => name !== 'title' || was !== undefined),
    body: body.map(({ change, text }) => ({ change, text })),
  };
}

interface Line {
  change: 'same' | 'added' | 'removed';
  text: string;
  /** True if the hunk begins with the file's first line. */
  fromTop: boolean;
}

function linesOf(unified: string): Line[] {
  const lines: Line[] = [];
  let fromTop = false;
  for (const line of unified.replace(/\n$/, '').split('\n')) {
    const hunk = HUNK.exec(line);
    if (hunk) fromTop = Number(hunk[1]) <= 1;
    if (hunk || /^(\+\+\+|---) /.test(line) || line.startsWith('\\')) continue;
    const change = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same';
    lines.push({ change, text: line.slice(1), fromTop });
  }
  return lines;
}

/** The lines between the first two fences, and those after them. */
function parted(lines: Line[]): { front: Line[]; body: Line[] } {
  if (lines[0]?.text !== FENCE || !lines[0].fromTop) return { front: [], body: lines };
  const rest = lines.slice(1);
  const end = rest.findLastIndex(
    ({ text, fromTop }, index) => fromTop && text === FENCE && rest.slice(0, index).every(isField),
  );
  if (end < 0) return { front: rest.filter(({ fromTop }) => fromTop), body: rest.filter(({ fromTop }) => !fromTop) };
  return { front: rest.slice(0, end).filter(({ text }) => text !== FENCE), body: rest.slice(end + 1) };
}

const isField = ({ text }: Line) => text === FENCE || /^[\w-]+:|^\s|^$/.test(text);

function fieldsOf(lines: Line[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (const { text } of lines) {
    const match = /^([\w-]+):\s*(.*)$/.exec(text);
    if (match?.[1]) fields.set(match[1], plain(match[2] ?? ''));
  }
  return fields;
}

/** A field's value without YAML quotes and brackets. */
const plain = (value: string) =>
  value
    .trim()
    .replace(/^(["'])(.*)\1$/, '$2')
    .replace(/^\[(.*)\]$/, '$1');
