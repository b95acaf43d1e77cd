const KEPT_MS = 10_000;

/** Gives the browser a text to keep as a file. */
export const save = (name: string, text: string): void => saveBlob(name, new Blob([text], { type: 'text/plain' }));

/** Gives the browser a file to keep. */
export function saveBlob(name: string, blob: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
