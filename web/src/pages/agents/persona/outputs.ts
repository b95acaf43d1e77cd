// The streamed answer of a persona to a test input. Pure.

import type { Fault, PersonaEvent } from '@onyx/sdk';
import type { Part, ToolStep } from '../../../store/messages';

export interface Output {
  parts: Part[];
  state: 'running' | 'done' | 'failed' | 'stopped';
  fault?: Fault;
}

export const BLANK: Output = { parts: [], state: 'running' };

export function withEvent(output: Output, event: PersonaEvent): Output {
  const { parts } = output;
  switch (event.type) {
    case 'text_delta':
      return {
        ...output,
        parts: [
          ...closed(parts),
          {
            kind: 'text',
            turnId: growing(parts)?.turnId ?? `${GROWING}${parts.length}`,
            text: (growing(parts)?.text ?? '') + event.content,
          },
        ],
      };
    case 'text_complete': {
      // A completed text repeats its deltas and ends them; the next text is a new part.
      const before = growing(parts);
      return {
        ...output,
        parts: [
          ...closed(parts),
          {
            kind: 'text',
            turnId: (before?.turnId ?? `${GROWING}${parts.length}`).replace(GROWING, WHOLE),
            text: event.content,
          },
        ],
      };
    }
    case 'tool_call':
      return {
        ...output,
        parts: withStep(parts, {
          toolUseId: event.toolUseId,
          tool: event.toolName,
          input: event.input,
          label: event.label,
        }),
      };
    case 'tool_result': {
      const { toolUseId, output: told, isError = false, report } = event;
      return {
        ...output,
        parts: parts.map((part) =>
          part.kind === 'tools'
            ? {
                ...part,
                steps: part.steps.map((step) =>
                  step.toolUseId === toolUseId ? { ...step, output: told, ok: !isError, report } : step,
                ),
              }
            : part,
        ),
      };
    }
    case 'error':
      return {
        ...output,
        state: 'failed',
        fault: { code: 'internal', message: event.message, hint: 'Run it again; nothing was changed.' },
      };
    case 'done':
      return output.state === 'running' ? { ...output, state: 'done' } : output;
  }
}

/** An output that ended early, because it was stopped or the connection broke. */
export function ended(output: Output, how: { stopped: true } | { fault: Fault }): Output {
  if (output.state !== 'running') return output;
  return 'fault' in how ? { ...output, state: 'failed', fault: how.fault } : { ...output, state: 'stopped' };
}

const GROWING = 'growing ';
const WHOLE = 'whole ';

function growing(parts: Part[]): Extract<Part, { kind: 'text' }> | undefined {
  const last = parts.at(-1);
  return last?.kind === 'text' && last.turnId.startsWith(GROWING) ? last : undefined;
}

const closed = (parts: Part[]): Part[] => (growing(parts) ? parts.slice(0, -1) : parts);

function withStep(parts: Part[], step: ToolStep): Part[] {
  const last = parts.at(-1);
  if (last?.kind === 'tools') return [...parts.slice(0, -1), { ...last, steps: [...last.steps, step] }];
  return [...parts, { kind: 'tools', steps: [step] }];
}
