// The AI SDK's streamText through an OpenAI-compatible provider.
import assert from 'node:assert/strict';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

const onyx = createOpenAICompatible({
  name: 'onyx',
  baseURL: `${process.env.ONYX_URL}/v1`,
  apiKey: process.env.ONYX_TOKEN,
  includeUsage: true,
});

for (const name of ['onyx:main', 'mine/m']) {
  const model = onyx(name);
  const plain = streamText({ model, prompt: 'hi', maxRetries: 0 });
  assert.equal(await plain.text, 'Hello there.');
  assert.equal(await plain.finishReason, 'stop');
  assert.equal((await plain.usage).outputTokens, 5);
  const weather = tool({
    description: 'The weather of a town',
    inputSchema: z.object({ town: z.string() }),
    execute: async ({ town }) => `25 in ${town}`,
  });
  const steps = streamText({
    model,
    prompt: 'what is the weather?',
    tools: { weather },
    stopWhen: stepCountIs(3),
    maxRetries: 0,
  });
  assert.equal(await steps.text, 'It is sunny.');
  assert.equal((await steps.steps).length, 2);
  const errors = [];
  const broken = streamText({ model, prompt: 'break off', maxRetries: 0, onError: ({ error }) => errors.push(error) });
  for await (const part of broken.fullStream) if (part.type === 'error') errors.push(part.error);
  assert.ok(errors.length > 0, 'an answer that broke off was taken for a whole one');
  console.log('ok:', name, 'with the AI SDK');
}
