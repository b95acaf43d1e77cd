import { expect, test } from 'vitest';
import type { Plugin } from '@onyx/sdk';
import { asksFor } from '../src/pages/plugins/words';

const nothing: Plugin = {
  name: 'careful',
  description: '',
  state: 'new',
  enabled: false,
  status: 'idle',
  problems: [],
  grants: { network: [], read: [], write: [], secrets: [], events: [], people: [], content: false },
  hooks: [],
  connectors: [],
  mcpServers: [],
  skills: [],
  config: {},
  log: [],
};

test('everything that a plugin asks for is said, and of nothing nothing', () => {
  expect(asksFor(nothing)).toEqual([]);
  const hook = { veto: false, annotate: false, tools: [], deadlineMs: 2000 };
  const plugin: Plugin = {
    ...nothing,
    grants: {
      network: ['example.org'],
      read: ['/a', '/b'],
      write: ['/c'],
      secrets: ['token'],
      events: ['before_tool', 'after_run', 'on_start'],
      people: ['*'],
      content: true,
    },
    hooks: [
      { ...hook, event: 'before_tool', veto: true, tools: ['exec', 'mcp:*'] },
      { ...hook, event: 'after_run' },
      { ...hook, event: 'on_start' },
    ],
    connectors: ['pipe'],
    mcpServers: ['echo'],
    skills: ['greet'],
  };
  expect(asksFor(plugin)).toEqual([
    'Contact example.org',
    'Read the folders /a, /b',
    'Change the folders /c',
    'Get the secrets token',
    'Add the connectors pipe',
    'Add MCP servers, whose tools wait for you: echo',
    'Add skills, which wait for you: greet',
    'Block every tool call before it happens of exec, mcp:* for everyone and read its content',
    'Be notified of every answer at its end for everyone and read its content',
    'Be notified when Onyx starts it',
  ]);
});
