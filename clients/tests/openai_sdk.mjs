// The openai library for JavaScript: streams, whole answers, tools, responses, embeddings, errors.
import assert from 'node:assert/strict';
import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: `${process.env.ONYX_URL}/v1`,
  apiKey: process.env.ONYX_TOKEN,
  maxRetries: 0,
});
const user = (content) => [{ role: 'user', content }];
const seen = (what) => console.log('ok:', what);
const parameters = { type: 'object', properties: { town: { type: 'string' } } };
const tools = [{ type: 'function', function: { name: 'weather', parameters } }];

for (const model of ['onyx:main', 'mine/m', 'claude/m']) {
  const whole = await client.chat.completions.create({ model, messages: user('hi') });
  assert.equal(whole.choices[0].message.content, 'Hello there.');
  let text = '';
  let finish;
  const stream = await client.chat.completions.create({ model, messages: user('hi'), stream: true });
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta?.content ?? '';
    finish = chunk.choices[0]?.finish_reason ?? finish;
  }
  assert.deepEqual([text, finish], ['Hello there.', 'stop']);
  seen(`${model}: whole and streamed`);

  const runner = client.chat.completions.runTools({
    model,
    messages: user('what is the weather?'),
    tools: [
      {
        type: 'function',
        function: { name: 'weather', parameters, parse: JSON.parse, function: ({ town }) => `25 in ${town}` },
      },
    ],
  });
  assert.equal(await runner.finalContent(), 'It is sunny.');
  seen(`${model}: tools run by the library`);

  const streamed = client.chat.completions.stream({ model, messages: user('what is the weather?'), tools });
  const completion = await streamed.finalChatCompletion();
  assert.equal(completion.choices[0].message.tool_calls[0].function.arguments, '{"town":"Rome"}');
  seen(`${model}: a tool in a stream`);

  let said = '';
  await assert.rejects(async () => {
    const broken = await client.chat.completions.create({ model, messages: user('break off'), stream: true });
    for await (const chunk of broken) said += chunk.choices[0]?.delta?.content ?? '';
  }, OpenAI.APIError);
  assert.equal(said, 'half');
  seen(`${model}: an error within a stream`);
}

for (const model of ['onyx:main', 'resp/m']) {
  const response = await client.responses.create({ model, input: 'hi' });
  assert.equal(response.output_text, 'Hello there.');
  let text = '';
  for await (const event of await client.responses.create({ model, input: 'hi', stream: true })) {
    if (event.type === 'response.output_text.delta') text += event.delta;
  }
  assert.equal(text, 'Hello there.');
  seen(`${model}: responses`);
}

const vectors = await client.embeddings.create({ model: 'mine/vectors', input: ['one', 'three'] });
assert.equal(vectors.data[1].embedding[2], 5);
seen('embeddings');
await assert.rejects(client.chat.completions.create({ model: 'nobody', messages: user('hi') }), OpenAI.NotFoundError);
seen('errors by their status');
