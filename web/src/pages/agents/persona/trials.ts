// Running test inputs. They belong to the window, not to the page: leaving the page stops none of them.

import type { TestInput } from '@onyx/sdk';
import { create } from 'zustand';
import { faultOf, onyx } from '../../../store/client';
import { BLANK, ended, type Output, withEvent } from './outputs';

export interface Trial {
  output: Output;
  /** The system prompt of this run; a newer prompt may give another answer. */
  prompt: string;
}

/** Keyed by the input's persona, the input, and the answering persona. */
export const keyOf = (host: string, input: string, persona: string) => `${host} ${input} ${persona}`;

export const useTrials = create<Record<string, Trial>>(() => ({}));

const stops = new Map<string, AbortController>();
/** The number of concurrent answers; providers limit requests. */
const AT_ONCE = 3;
let atWork = 0;
const waiting: (() => void)[] = [];

async function turn(): Promise<void> {
  if (atWork >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  atWork += 1;
}

function leave(): void {
  atWork -= 1;
  waiting.shift()?.();
}

/** Runs a test input of `host` with a persona. */
export async function tryOut(host: string, input: TestInput, persona: string, prompt: string): Promise<void> {
  const key = keyOf(host, input.id, persona);
  if (stops.has(key)) return;
  const stop = new AbortController();
  stops.set(key, stop);
  const put = (change: (output: Output) => Output) =>
    useTrials.setState((all) => ({ [key]: { prompt, output: change(all[key]?.output ?? BLANK) } }));
  put(() => BLANK);
  await turn();
  try {
    stop.signal.throwIfAborted();
    const id = persona === host ? input.id : await sameInput(persona, input.content);
    const run = await onyx.personas.runTestInput(persona, id, stop.signal);
    for await (const event of run.events) put((output) => withEvent(output, event));
  } catch (error) {
    put((output) => ended(output, stop.signal.aborted ? { stopped: true } : { fault: faultOf(error) }));
  }
  leave();
  stops.delete(key);
}

export function stopTrial(key: string): void {
  stops.get(key)?.abort();
}

/** The same text among another persona's test inputs; it is added if missing. */
async function sameInput(persona: string, content: string): Promise<string> {
  const known = (await onyx.personas.testInputs(persona)).find((input) => input.content.trim() === content.trim());
  return (known ?? (await onyx.personas.createTestInput(persona, content))).id;
}
