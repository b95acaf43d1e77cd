import type { ToolStep } from '../store/messages';
import { unified } from '../ui/diff';

export interface Described {
  verb: string;
  what: string;
}

type Fields = Record<string, unknown>;

const field = (input: Fields, ...names: string[]) => {
  const found = names
    .map((name) => input[name])
    .find((value) => typeof value === 'string' || typeof value === 'number');
  return found === undefined ? '' : String(found);
};
const path = (input: Fields) => field(input, 'path', 'file', 'key', 'target', 'name');
const range = (input: Fields) => {
  const from = field(input, 'start_line', 'offset', 'from');
  return from ? `${path(input)}:${from}` : path(input);
};

const VERBS: Record<string, (input: Fields) => Described> = {
  read_file: (input) => ({ verb: 'Read', what: range(input) }),
  write_file: (input) => ({ verb: 'Wrote', what: path(input) }),
  edit_file: (input) => ({ verb: 'Edited', what: path(input) }),
  delete_file: (input) => ({ verb: 'Deleted', what: path(input) }),
  list_files: (input) => ({ verb: 'Listed', what: path(input) || 'files' }),
  memory_search: (input) => ({ verb: 'Searched memory', what: quoted(field(input, 'query', 'q')) }),
  memory_graph: (input) => ({ verb: 'Looked up', what: field(input, 'name') }),
  memory_get: (input) => ({ verb: 'Recalled', what: range(input) || 'memory' }),
  memory_write: (input) => ({ verb: 'Remembered', what: field(input, 'heading', 'target') }),
  read: (input) => ({ verb: 'Read', what: `${field(input, 'type')} ${field(input, 'id')}`.trim() }),
  context: () => ({ verb: 'Looked at', what: 'what you see' }),
  web_fetch: (input) => ({ verb: 'Fetched', what: field(input, 'url') }),
  web_search: (input) => ({ verb: 'Searched the web', what: quoted(field(input, 'query', 'q')) }),
  exec: (input) => ({ verb: '$', what: words(input) }),
  process: (input) => ({
    verb: field(input, 'action') === 'start' ? '$' : 'Process',
    what: words(input) || `${field(input, 'action')} ${field(input, 'id')}`,
  }),
  move_file: (input) => ({ verb: 'Moved', what: `${field(input, 'from', 'path')} → ${field(input, 'to')}` }),
  search_files: (input) => ({ verb: 'Searched files', what: quoted(field(input, 'query', 'text', 'pattern')) }),
  search: (input) => ({ verb: 'Searched', what: quoted(field(input, 'query', 'q')) }),
  session_search: (input) => ({ verb: 'Searched chats', what: quoted(field(input, 'query', 'q')) }),
  ask_person: (input) => ({ verb: 'Asked you', what: field(input, 'question') }),
  ask_agent: (input) => ({ verb: `Asked ${field(input, 'agent')}`, what: field(input, 'message') }),
  route_task: (input) => ({ verb: 'Handed on', what: field(input, 'task') }),
  git_commit: (input) => ({ verb: 'Committed', what: field(input, 'message') }),
  get_persona: () => ({ verb: 'Read', what: 'the persona' }),
  update_persona_name: (input) => ({ verb: 'Renamed it', what: quoted(field(input, 'name')) }),
  update_system_prompt: () => ({ verb: 'Rewrote', what: 'the system prompt' }),
  list_test_inputs: () => ({ verb: 'Listed', what: 'test inputs' }),
  get_test_input: (input) => ({ verb: 'Read', what: `test input ${field(input, 'id')}` }),
  create_test_input: (input) => ({ verb: 'Added test', what: quoted(field(input, 'content')) }),
  update_test_input: (input) => ({ verb: 'Changed test', what: quoted(field(input, 'content')) }),
  delete_test_input: (input) => ({ verb: 'Removed test', what: field(input, 'id') }),
  run_test_input: (input) => ({ verb: 'Tried', what: field(input, 'id', 'content') }),
  propose_change: (input) => ({ verb: 'Proposed', what: field(input, 'title', 'id') || path(input) }),
};

const words = (input: Fields) =>
  Array.isArray(input.argv) ? input.argv.map(String).join(' ') : field(input, 'command', 'cmd');
const quoted = (text: string) => (text ? `“${text}”` : '');

/** What a step did, verb first. */
export function describe(step: ToolStep): Described {
  const input = (step.input ?? {}) as Fields;
  const known = VERBS[step.tool]?.(input);
  if (known) return known;
  const args = Object.keys(input).length === 0 ? '' : JSON.stringify(input);
  return { verb: step.tool.replace(/^mcp:/, ''), what: step.summary ?? args };
}

/** What an edit changed, as its own words say it. */
export function changeOf(step: ToolStep): string | undefined {
  const { old, new: next } = (step.input ?? {}) as Fields;
  return step.tool === 'edit_file' && typeof old === 'string' && typeof next === 'string'
    ? unified(old, next)
    : undefined;
}

/** `+2 −1` of a summary that counts changed lines, or of what an edit changed. */
export function counts(step: ToolStep): { added: string; removed: string } | undefined {
  const match = /\+(\d+) [−-](\d+)/.exec(step.summary ?? '');
  if (match) return { added: `+${match[1]}`, removed: `−${match[2]}` };
  const lines = step.ok === false ? undefined : changeOf(step)?.split('\n');
  const count = (mark: string) => lines?.filter((line) => line.startsWith(mark)).length ?? 0;
  return lines && { added: `+${count('+')}`, removed: `−${count('-')}` };
}
