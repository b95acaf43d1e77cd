// Anthropic's library for JavaScript: streams and tools.
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({
  baseURL: process.env.ONYX_URL,
  apiKey: process.env.ONYX_TOKEN,
  maxRetries: 0,
});
const tools = [{ name: 'weather', input_schema: { type: 'object', properties: { town: { type: 'string' } } } }];

for (const model of ['onyx:main', 'claude/m', 'mine/m']) {
  const ask = (messages) => ({ model, max_tokens: 100, tools, messages });
  const first = await client.messages.stream(ask([{ role: 'user', content: 'hi' }])).finalMessage();
  assert.equal(first.content[0].text, 'Hello there.');
  const question = { role: 'user', content: 'what is the weather?' };
  const asked = await client.messages.stream(ask([question])).finalMessage();
  const call = asked.content.at(-1);
  assert.deepEqual([asked.stop_reason, call.input], ['tool_use', { town: 'Rome' }]);
  const result = { type: 'tool_result', tool_use_id: call.id, content: '25 degrees' };
  const answer = await client.messages.create(
    ask([question, { role: 'assistant', content: asked.content }, { role: 'user', content: [result] }]),
  );
  assert.equal(answer.content[0].text, 'It is sunny.');
  await assert.rejects(client.messages.stream(ask([{ role: 'user', content: 'break off' }])).finalMessage());
  console.log('ok:', model, 'with the Anthropic library');
}
