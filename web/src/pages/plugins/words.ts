import type { Plugin, PluginHook } from '@onyx/sdk';

export const STATES: Record<Plugin['state'], string> = {
  new: 'Waits for you: not accepted yet',
  changed: 'Waits for you: it has changed since you accepted it',
  accepted: 'Accepted',
  missing: 'Its folder is gone',
  broken: 'Cannot be used',
};

export const STATUSES: Record<Plugin['status'], string> = {
  idle: 'On',
  starting: 'Starting',
  running: 'Running',
  failing: 'Failing; Onyx restarts it',
  parked: 'Stopped after failures',
};

const EVENTS: Record<string, string> = {
  on_start: 'starts',
  on_message: 'message',
  before_run: 'answer before it begins',
  before_tool: 'tool call before it happens',
  after_tool: 'tool call after it happened',
  after_run: 'answer at its end',
  on_stop: 'ends',
};

/** Everything that a plugin may do once it is accepted, one line each; empty if it asks for nothing. */
export function asksFor(plugin: Plugin): string[] {
  const { grants } = plugin;
  const named = (words: string, names: string[]) => (names.length > 0 ? [`${words} ${names.join(', ')}`] : []);
  return [
    ...named('Contact', grants.network),
    ...named('Read the folders', grants.read),
    ...named('Change the folders', grants.write),
    ...named('Get the secrets', grants.secrets),
    ...named('Add the connectors', plugin.connectors),
    ...named('Add MCP servers, whose tools wait for you:', plugin.mcpServers),
    ...named('Add skills, which wait for you:', plugin.skills),
    ...plugin.hooks.map((hook) => notifiedOf(hook, plugin)),
  ];
}

function notifiedOf(hook: PluginHook, { grants }: Plugin): string {
  const event = EVENTS[hook.event] ?? hook.event;
  if (hook.event === 'on_start' || hook.event === 'on_stop') return `Be notified when Onyx ${event} it`;
  const of = hook.tools.length > 0 ? ` of ${hook.tools.join(', ')}` : '';
  const whose = grants.people.includes('*') ? 'for everyone' : `for ${grants.people.join(', ')}`;
  const seen = grants.content ? 'and read its content' : 'without its content';
  return `${hook.veto ? 'Block' : 'Be notified of'} every ${event}${of} ${whose} ${seen}`;
}
