// The sentence for each error code. The exact words of the server or provider are shown as details.

import { classOf, type Fault } from '@onyx/sdk';

const SENTENCES: Record<string, string> = {
  provider_auth: 'The provider rejected this key.',
  provider_rate_limited: 'The provider is limiting requests. Wait a moment, or use another model.',
  provider_overloaded: 'The provider is overloaded. Wait a moment, or use another model.',
  provider_paused: 'This model keeps failing and is paused for a moment.',
  provider_unavailable: 'The provider cannot be reached.',
  provider_timeout: 'The provider did not answer in time.',
  provider_truncated: 'The provider’s answer broke off.',
  provider_refused: 'The provider refused this request.',
  provider_context_length:
    'This chat is longer than the model can read. Start a new one, or use a model with a larger window.',
  model_not_found: 'This model is not available.',
  limit_steps: 'The run reached its limit of steps. Its work is kept; send a message to continue.',
  limit_tool_calls: 'The run reached its limit of tool calls. Its work is kept; send a message to continue.',
  limit_seconds: 'The run reached its time limit. Its work is kept; send a message to continue.',
  limit_output: 'The answer reached its length limit. Send a message to continue.',
  limit_budget: 'The budget is used up. Raise it in Settings, or continue tomorrow.',
  limit_loop: 'The agent repeated the same step and was stopped. Say what it should do differently.',
  interrupted: 'The server stopped during this answer. What was finished is kept.',
  storage_full: 'The disk is full. Nothing you sent is lost.',
  internal: 'Something went wrong inside Onyx. Nothing you sent is lost.',
};

/** One or two sentences, and the details if they say more. */
export function wordsOf(fault: Fault): { sentence: string; detail?: string } {
  const raw = [fault.message, fault.hint].filter(Boolean).join(' ');
  const sentence = SENTENCES[fault.code];
  return sentence === undefined ? { sentence: raw } : { sentence, detail: raw === sentence ? undefined : raw };
}

/** Faults that can be fixed in the provider settings. */
export const isOfProvider = ({ code }: Fault) => classOf(code) === 'provider';

/** Faults that a retry may avoid. */
export const mayPass = ({ code }: Fault) =>
  isOfProvider({ code, message: '', hint: '' }) ||
  code === 'interrupted' ||
  code === 'internal' ||
  code === 'overloaded';
