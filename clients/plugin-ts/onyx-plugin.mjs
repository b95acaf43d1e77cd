// Connects a plugin with Onyx. It is one file without dependencies, with its types in a second file: copy both into
// your package.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PROTOCOL = 1;
const RESEND_MILLISECONDS = 10_000;

/** Thrown by a hook that may veto; the message is the reason. */
export class Veto extends Error {}

/** Thrown by a sender for a message that can never be sent. */
export class Refused extends Error {}

export class Plugin {
  config = {};
  secrets = {};
  #hooks = new Map();
  #senders = new Map();
  #typing = () => {};
  #started = [];
  #next = 0;
  #waiting = new Map();

  hook(event, handle) {
    this.#hooks.set(`hook.${event}`, handle);
    return this;
  }

  connector(name, send) {
    this.#senders.set(name, send);
    return this;
  }

  typing(show) {
    this.#typing = show;
    return this;
  }

  onStarted(begin) {
    this.#started.push(begin);
    return this;
  }

  /** Delivers a message; resolves when Onyx has stored it. Until then it is delivered again. */
  async deliver(connector, message) {
    for (;;) {
      const answer = await this.#ask('message.in', { connector, ...message });
      if (answer?.ok) return;
      if (answer?.error) throw new Error(answer.error);
    }
  }

  async run() {
    for await (const line of createInterface({ input: process.stdin })) {
      const message = JSON.parse(line);
      if (message.method) void this.#answer(message);
      else this.#settle(message);
    }
  }

  #ask(method, params) {
    this.#next += 1;
    const id = this.#next;
    return new Promise((resolve) => {
      const giveUp = () => {
        this.#waiting.delete(id);
        resolve(undefined);
      };
      const timer = setTimeout(giveUp, RESEND_MILLISECONDS);
      this.#waiting.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      this.#write({ id, method, params });
    });
  }

  #settle(message) {
    const settle = this.#waiting.get(message.id);
    // An error of the connection says nothing about the message, so it is delivered again.
    if (!settle || !('result' in message)) return;
    this.#waiting.delete(message.id);
    settle(message.result);
  }

  async #answer({ id, method, params = {} }) {
    const reply = await this.#handle(method, params).then(
      (result) => ({ result }),
      (error) => {
        if (error instanceof Veto) return { result: { veto: error.message } };
        const code = error instanceof Refused ? -32602 : -32603;
        return { error: { code, message: String(error?.message ?? error) } };
      },
    );
    if (id !== undefined) this.#write({ id, ...reply });
    if (method === 'stop') process.exit(0);
  }

  async #handle(method, params) {
    if (method === 'start') {
      this.config = params.config;
      this.secrets = params.secrets;
      for (const begin of this.#started) void Promise.resolve().then(begin).catch(console.error);
      return { protocol: PROTOCOL, ...identity() };
    }
    if (method === 'message.send') {
      const send = this.#senders.get(params.connector);
      if (!send) throw new Refused('there is no such connector');
      return { id: await send(params) };
    }
    if (method === 'typing') this.#typing(params);
    const note = await this.#hooks.get(method)?.(params);
    return note ? { annotate: note } : {};
  }

  #write(message) {
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}

/** The package's manifest, which Onyx compares with the accepted one. */
function identity() {
  const text = readFileSync(join(process.env.PLUGIN_ROOT ?? '.', 'plugin.json'), 'utf8');
  const { name, version } = JSON.parse(text);
  return { name, version };
}
