import { toast } from '../store/state';

export async function copy(text: string, what = 'Copied'): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(what);
  } catch {
    toast('Not copied: this browser does not allow it here. Select the text and copy it by hand.', { tone: 'danger' });
  }
}
