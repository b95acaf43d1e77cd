const KEPT_MS = 10_000;

/** Downloads a text as a file. */
export const save = (name: string, text: string): void => saveBlob(name, new Blob([text], { type: 'text/plain' }));

/** Downloads a file. */
export function saveBlob(name: string, blob: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
