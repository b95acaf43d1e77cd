// What every client is asked to do, and with which targets: the same as scenario.py, for programs in JavaScript.
import assert from 'node:assert/strict';

export const URL = process.env.ONYX_URL;
export const TOKEN = process.env.ONYX_TOKEN;
export const WRONG_TOKEN = 'onyx_sk_of_nobody';
const UPSTREAM = process.env.UPSTREAM_URL;

export const TARGETS = {
  chat: { agent: 'onyx:main', 'same wire': 'mine/m', 'other wire': 'claude/m' },
  responses: { agent: 'onyx:main', 'same wire': 'resp/m', 'other wire': 'claude/m' },
  messages: { agent: 'onyx:main', 'same wire': 'claude/m', 'other wire': 'mine/m' },
};

export const HELLO = 'say hello';
export const HELLO_ANSWER = 'Hello there.';
export const WEATHER = 'what is the weather?';
export const WEATHER_ANSWER = 'It is sunny.';
export const TOO_MANY = 'one question too many';
export const CUT = 'break off';
export const CUT_ANSWER = 'half';
export const WAIT = 'never end';
export const RETRY_AFTER = '45';
export const WEATHER_SCHEMA = { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] };
export const weather = ({ town }) => `25 degrees in ${town}`;

/** Runs each column's function against each target of the wire; `label` names the row's part if it is not the wire. */
export async function check(wire, columns, label = wire) {
  for (const [target, model] of Object.entries(TARGETS[wire])) {
    for (const [column, run] of Object.entries(columns)) {
      let error = null;
      try {
        await run(model);
      } catch (thrown) {
        error = String(thrown?.stack ?? thrown);
      }
      tell(column, label, target, error);
    }
  }
}

export function tell(column, wire, target, error = null) {
  process.stdout.write(`${JSON.stringify({ column, wire, target, error }).replace('{"column":', '{"column": ')}\n`);
}

export async function counts() {
  return (await fetch(`${UPSTREAM}/_counts`)).json();
}

export async function waitUntil(what, holds, seconds = 20) {
  const end = Date.now() + seconds * 1000;
  while (!(await holds())) {
    assert.ok(Date.now() < end, `in vain waited for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Cancelling `run` must end the provider's answer, which would otherwise never end. */
export async function reachesTheProvider(run) {
  const before = await counts();
  await run();
  await waitUntil("the provider's answer to be dropped", async () => (await counts()).abandoned > before.abandoned);
  assert.equal((await counts()).answering, 0, 'an answer of the provider goes on');
}

/** The error with which `run` ends. */
export async function raised(run) {
  try {
    await run();
  } catch (error) {
    return error;
  }
  return assert.fail('nothing was thrown');
}

/** A wrong key is refused without a request to the provider. */
export async function refusedBeforeTheProvider(run) {
  const before = (await counts()).received;
  const error = await raised(run);
  assert.equal((await counts()).received, before, 'the provider was asked');
  return error;
}

export async function loadScript(script) {
  const answer = await fetch(`${UPSTREAM}/_script`, { method: 'POST', body: JSON.stringify(script) });
  assert.equal(answer.status, 200, await answer.text());
}
