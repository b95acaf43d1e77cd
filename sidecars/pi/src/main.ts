// The program: it reads requests from its input and writes replies until the input ends. It reads Pi's file of sign-ins
// and calls the providers; it uses nothing else on the machine.

import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { answer } from './ask.js';
import { SignIns } from './auth.js';
import type { Ask, Order, Reply } from './protocol.js';

const signIns = new SignIns(process.env['PI_AUTH_FILE'] ?? join(homedir(), '.pi/agent/auth.json'));
const baseUrl = process.env['PI_BASE_URL'];
const running = new Map<number, AbortController>();

const say = (reply: Reply) => process.stdout.write(`${JSON.stringify(reply)}\n`);

async function perform(ask: Ask) {
  const abort = new AbortController();
  running.set(ask.id, abort);
  try {
    await answer(ask, signIns, baseUrl, abort.signal, say);
  } catch (error) {
    say({ type: 'failed', id: ask.id, trouble: 'unavailable', message: String(error) });
  } finally {
    running.delete(ask.id);
  }
}

async function tell(id: number) {
  try {
    say({ type: 'status', id, sign_ins: await signIns.list() });
  } catch (error) {
    say({ type: 'failed', id, trouble: 'auth', message: String(error) });
  }
}

function obey(order: Order) {
  if (order.type === 'ask') void perform(order);
  else if (order.type === 'cancel') running.get(order.id)?.abort();
  else if (order.type === 'status') void tell(order.id);
}

const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
lines.on('line', (line) => {
  try {
    obey(JSON.parse(line) as Order);
  } catch {
    process.stderr.write('a line is no order\n');
  }
});
lines.on('close', () => process.exit(0));
say({ type: 'ready', version: 1 });
