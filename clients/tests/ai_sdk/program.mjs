// The AI SDK, version 6, through four of its providers.
import assert from 'node:assert/strict';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenResponses } from '@ai-sdk/open-responses';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import {
  check,
  CUT,
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
  WRONG_TOKEN,
  weather,
} from '../scenario.mjs';

const base = { baseURL: `${URL}/v1` };
const providers = {
  '@ai-sdk/openai-compatible': ['chat', (apiKey) => createOpenAICompatible({ ...base, name: 'onyx', apiKey })],
  '@ai-sdk/openai': ['responses', (apiKey) => createOpenAI({ ...base, apiKey })],
  '@ai-sdk/anthropic': ['messages', (apiKey) => createAnthropic({ ...base, apiKey })],
  '@ai-sdk/open-responses': [
    'responses',
    (apiKey) => createOpenResponses({ url: `${URL}/v1/responses`, name: 'onyx', apiKey }),
  ],
};
const tools = {
  weather: tool({
    description: 'The weather of a town',
    inputSchema: z.object({ town: z.string() }),
    execute: async (input) => weather(input),
  }),
};

function columns(provider) {
  const [ours, strangers] = [provider(TOKEN), provider(WRONG_TOKEN)];
  return {
    plain: async (name) => {
      const { text, finishReason } = await generateText({ model: ours(name), prompt: HELLO, maxRetries: 0, topP: 0.9 });
      assert.deepEqual([text, finishReason], [HELLO_ANSWER, 'stop']);
    },
    stream: async (name) => {
      const answer = streamText({ model: ours(name), prompt: HELLO, maxRetries: 0 });
      assert.equal(await answer.text, HELLO_ANSWER);
      assert.equal(await answer.finishReason, 'stop');
    },
    tools: async (name) => {
      const model = ours(name);
      const answer = streamText({ model, prompt: WEATHER, tools, stopWhen: stepCountIs(3), maxRetries: 0 });
      assert.equal(await answer.text, WEATHER_ANSWER);
      assert.equal((await answer.steps).length, 2);
    },
    'refused key': async (name) => {
      const error = await refusedBeforeTheProvider(() =>
        generateText({ model: strangers(name), prompt: HELLO, maxRetries: 0 }),
      );
      assert.equal(error.statusCode, 401, String(error));
    },
    'rate limit': async (name) => {
      const error = await raised(() => generateText({ model: ours(name), prompt: TOO_MANY, maxRetries: 0 }));
      assert.equal(error.statusCode, 429, String(error));
      assert.equal(error.responseHeaders['retry-after'], RETRY_AFTER);
    },
    'cut stream': async (name) => {
      const errors = [];
      const onError = ({ error }) => errors.push(error);
      const broken = streamText({ model: ours(name), prompt: CUT, maxRetries: 0, onError });
      for await (const part of broken.fullStream) {
        if (part.type === 'error') errors.push(part.error);
        // One provider reports no error, but only that the answer ended with one.
        if (part.type === 'finish' && part.finishReason === 'error') errors.push(part.rawFinishReason);
      }
      assert.ok(errors.length > 0, 'an answer that broke off was taken for a whole one');
    },
    cancel: (name) =>
      reachesTheProvider(async () => {
        const stop = new AbortController();
        const answer = streamText({ model: ours(name), prompt: WAIT, maxRetries: 0, abortSignal: stop.signal });
        for await (const _ of answer.textStream) {
          stop.abort();
          break;
        }
      }),
  };
}

for (const [name, [wire, provider]] of Object.entries(providers)) {
  await check(wire, columns(provider), name);
}
