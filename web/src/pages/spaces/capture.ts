// Converts the contents of the capture box for the server.

import type { Capture } from '@onyx/sdk';

/** A lone address is fetched; anything else is saved as text. */
export function captureOf(text: string): Capture | undefined {
  const said = text.trim();
  if (said === '') return undefined;
  return /^https?:\/\/\S+$/i.test(said) ? { url: said } : { text: said };
}

export function nameOf(capture: Capture): string {
  if ('url' in capture) return capture.url;
  return 'name' in capture ? capture.name : `“${capture.text.slice(0, 60)}”`;
}

export function captureFile(file: File): Promise<Capture> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () =>
      resolve({
        data: String(reader.result).split(',', 2)[1] ?? '',
        name: file.name,
        mediaType: file.type || undefined,
      });
    reader.onerror = () => reject(reader.error ?? new Error('The file cannot be read.'));
    reader.readAsDataURL(file);
  });
}
