import type { Effect, McpTool } from '@onyx/sdk';
import { Diff } from '../../chat/Diff';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { Line, Select } from '../../ui/form';

const EFFECTS: [Effect, string][] = [
  ['read', 'Only reads'],
  ['write', 'Changes my data'],
  ['destroy', 'Deletes'],
  ['reach', 'Contacts other services'],
  ['execute', 'Runs programs'],
];

const STATES: Record<McpTool['state'], string> = {
  ready: 'Agents can use it',
  new: 'Waits for you',
  changed: 'Waits for you: its description has changed',
  missing: 'The server no longer offers it',
  off: 'Switched off',
  unusable: 'Cannot be used',
};

/** Whether agents cannot use it until a person accepts it as it is now. */
export const waits = (tool: McpTool) => tool.state === 'new' || tool.state === 'changed';

/** A tool of an MCP server, and what agents may do with it. */
export function Tool({ server, tool, done }: { server: string; tool: McpTool; done: (said?: string) => void }) {
  const set = async (settings: { enabled?: boolean; effect?: Effect }) => {
    if (await attempt('Not changed', () => onyx.mcp.setTool(server, tool.name, settings))) done();
  };
  const accept = async () => {
    const seen = { [tool.name]: tool.hash ?? '' };
    if (await attempt('Not accepted', () => onyx.mcp.accept(server, seen))) done(`${tool.name} accepted`);
  };
  return (
    <div>
      <Line
        label={tool.name}
        detail={
          <>
            {tool.problem ?? tool.description}
            <span className="block">{STATES[tool.state]}</span>
          </>
        }
      >
        {waits(tool) && (
          <button type="button" className="btn btn-primary" onClick={() => void accept()}>
            Accept
          </button>
        )}
        {tool.state !== 'unusable' && (
          <>
            <Select
              label={`What ${tool.name} does`}
              value={tool.effect}
              options={EFFECTS}
              onChange={(effect) => void set({ effect: effect as Effect })}
            />
            <button type="button" className="btn" onClick={() => void set({ enabled: tool.state === 'off' })}>
              {tool.state === 'off' ? 'Switch on' : 'Switch off'}
            </button>
          </>
        )}
      </Line>
      {waits(tool) && tool.diff && (
        <Diff lines={tool.diffLines ?? []} label={`Change to the description of ${tool.name}`} />
      )}
    </div>
  );
}
