// The openai library for JavaScript: chat completions and responses.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
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

const client = new OpenAI({ baseURL: `${URL}/v1`, apiKey: TOKEN, maxRetries: 0 });
const stranger = new OpenAI({ baseURL: `${URL}/v1`, apiKey: WRONG_TOKEN, maxRetries: 0 });
const user = (content) => [{ role: 'user', content }];

function limitIsKept(error) {
  assert.ok(error instanceof OpenAI.RateLimitError, String(error));
  assert.equal(error.headers.get('retry-after'), RETRY_AFTER);
}

async function* pieces(model, words) {
  for await (const chunk of await client.chat.completions.create({ model, messages: user(words), stream: true })) {
    if (chunk.choices[0]?.delta?.content) yield chunk.choices[0].delta.content;
  }
}

async function all(stream) {
  const values = [];
  for await (const value of stream) values.push(value);
  return values;
}

await check('chat', {
  plain: async (model) => {
    const whole = await client.chat.completions.create({ model, messages: user(HELLO), top_p: 0.9 });
    assert.equal(whole.choices[0].message.content, HELLO_ANSWER);
  },
  stream: async (model) => assert.equal((await all(pieces(model, HELLO))).join(''), HELLO_ANSWER),
  tools: async (model) => {
    const run = { name: 'weather', parameters: WEATHER_SCHEMA, parse: JSON.parse, function: weather };
    const tools = [{ type: 'function', function: run }];
    const runner = client.chat.completions.runTools({ model, messages: user(WEATHER), tools, stream: true });
    assert.equal(await runner.finalContent(), WEATHER_ANSWER);
  },
  'refused key': async (model) => {
    const error = await refusedBeforeTheProvider(() =>
      stranger.chat.completions.create({ model, messages: user(HELLO) }),
    );
    assert.ok(error instanceof OpenAI.AuthenticationError, String(error));
  },
  'rate limit': async (model) =>
    limitIsKept(await raised(() => client.chat.completions.create({ model, messages: user(TOO_MANY) }))),
  'cut stream': async (model) => {
    const said = [];
    const error = await raised(async () => {
      for await (const piece of pieces(model, CUT)) said.push(piece);
    });
    assert.ok(error instanceof OpenAI.APIError, String(error));
    assert.equal(said[0], CUT_ANSWER);
  },
  cancel: (model) =>
    reachesTheProvider(async () => {
      const stream = await client.chat.completions.create({ model, messages: user(WAIT), stream: true });
      for await (const _ of stream) break;
      stream.controller.abort();
    }),
});

const tools = [{ type: 'function', name: 'weather', parameters: WEATHER_SCHEMA, strict: false }];
await check('responses', {
  plain: async (model) => {
    const whole = await client.responses.create({ model, input: HELLO });
    assert.equal(whole.output_text, HELLO_ANSWER);
  },
  stream: async (model) => {
    const final = await client.responses.stream({ model, input: HELLO }).finalResponse();
    assert.equal(final.output_text, HELLO_ANSWER);
  },
  tools: async (model) => {
    const asked = await client.responses.create({ model, input: WEATHER, tools });
    const call = asked.output.find((item) => item.type === 'function_call');
    const output = weather(JSON.parse(call.arguments));
    const input = [
      { role: 'user', content: WEATHER },
      ...asked.output,
      { type: 'function_call_output', call_id: call.call_id, output },
    ];
    const answer = await client.responses.create({ model, input, tools, store: false });
    assert.equal(answer.output_text, WEATHER_ANSWER);
  },
  'refused key': async (model) => {
    const error = await refusedBeforeTheProvider(() => stranger.responses.create({ model, input: HELLO }));
    assert.ok(error instanceof OpenAI.AuthenticationError, String(error));
  },
  'rate limit': async (model) => limitIsKept(await raised(() => client.responses.create({ model, input: TOO_MANY }))),
  'cut stream': async (model) => {
    const kinds = [];
    try {
      for await (const event of await client.responses.create({ model, input: CUT, stream: true })) {
        kinds.push(event.type);
      }
      assert.equal(kinds.at(-1), 'response.failed');
    } catch (error) {
      assert.ok(error instanceof OpenAI.APIError, String(error));
    }
    assert.ok(!kinds.includes('response.completed'));
  },
  cancel: (model) =>
    reachesTheProvider(async () => {
      const stream = await client.responses.create({ model, input: WAIT, stream: true });
      for await (const event of stream) if (event.type === 'response.output_text.delta') break;
      stream.controller.abort();
    }),
});
