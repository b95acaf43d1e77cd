// Anthropic's library for JavaScript.
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import {
  check,
  CUT,
  CUT_ANSWER,
  HELLO,
  HELLO_ANSWER,
  raised,
  reachesTheProvider,
  refusedBeforeTheProvider,
  RETRY_AFTER,
  TOKEN,
  TOO_MANY,
  URL,
  WAIT,
  WEATHER,
  WEATHER_ANSWER,
  WEATHER_SCHEMA,
  WRONG_TOKEN,
  weather,
} from '../scenario.mjs';

const client = new Anthropic({ baseURL: URL, apiKey: TOKEN, maxRetries: 0 });
const stranger = new Anthropic({ baseURL: URL, apiKey: WRONG_TOKEN, maxRetries: 0 });
const tools = [{ name: 'weather', description: 'The weather of a town', input_schema: WEATHER_SCHEMA }];
const ask = (model, words, more = {}) => ({
  model,
  max_tokens: 2000,
  messages: typeof words === 'string' ? [{ role: 'user', content: words }] : words,
  ...more,
});

await check('messages', {
  plain: async (model) => {
    const whole = await client.messages.create(ask(model, HELLO, { system: 'Be brief.' }));
    assert.equal(whole.content.at(-1).text, HELLO_ANSWER);
  },
  stream: async (model) => {
    const final = await client.messages.stream(ask(model, HELLO)).finalMessage();
    assert.equal(final.content.at(-1).text, HELLO_ANSWER);
  },
  tools: async (model) => {
    const asked = await client.messages.stream(ask(model, WEATHER, { tools })).finalMessage();
    const call = asked.content.at(-1);
    const result = { type: 'tool_result', tool_use_id: call.id, content: weather(call.input) };
    const conversation = [
      { role: 'user', content: WEATHER },
      { role: 'assistant', content: asked.content },
      { role: 'user', content: [result] },
    ];
    const answer = await client.messages.create(ask(model, conversation, { tools }));
    assert.equal(answer.content.at(-1).text, WEATHER_ANSWER);
  },
  'refused key': async (model) => {
    const error = await refusedBeforeTheProvider(() => stranger.messages.create(ask(model, HELLO)));
    assert.ok(error instanceof Anthropic.AuthenticationError, String(error));
  },
  'rate limit': async (model) => {
    const error = await raised(() => client.messages.create(ask(model, TOO_MANY)));
    assert.ok(error instanceof Anthropic.RateLimitError, String(error));
    assert.equal(error.headers.get('retry-after'), RETRY_AFTER);
  },
  'cut stream': async (model) => {
    const said = [];
    const stream = client.messages.stream(ask(model, CUT)).on('text', (text) => said.push(text));
    const error = await raised(() => stream.finalMessage());
    assert.ok(error instanceof Anthropic.AnthropicError, String(error));
    assert.equal(said[0], CUT_ANSWER);
  },
  cancel: (model) =>
    reachesTheProvider(async () => {
      const stream = await client.messages.create(ask(model, WAIT, { stream: true }));
      for await (const event of stream) if (event.type === 'content_block_delta') break;
      stream.controller.abort();
    }),
});
