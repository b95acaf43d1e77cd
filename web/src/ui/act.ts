import { faultOf } from '../store/client';
import { toast } from '../store/state';

/** Runs an action; a failure becomes a toast that says what happened and what to do. */
export async function attempt<T>(failed: string, act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    const fault = faultOf(error);
    toast(`${failed}. ${fault.message} ${fault.hint}`.trim(), { tone: 'danger' });
    return undefined;
  }
}
