export interface Picture {
  name: string;
  mediaType: string;
  /** Base64 of the bytes. */
  data: string;
  url: string;
}

const KINDS = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const LARGEST = 700 * 1024;
const LONGEST_SIDE = 1568;

export const isImage = (file: File) => KINDS.has(file.type);

/** Pictures in the form that messages carry; large ones are scaled down first. */
export async function readImages(files: Iterable<File>): Promise<Picture[]> {
  const pictures: Picture[] = [];
  for (const file of files) {
    const blob = await shrunk(file);
    const data = await base64(blob);
    pictures.push({ name: file.name, mediaType: blob.type, data, url: `data:${blob.type};base64,${data}` });
  }
  return pictures;
}

/** Scales a picture down until it is small enough to send and keep. */
export const shrunk = (file: File): Promise<Blob> | Blob => (file.size > LARGEST ? shrink(file) : file);

async function shrink(file: File): Promise<Blob> {
  const image = await createImageBitmap(file);
  const scale = Math.min(1, LONGEST_SIDE / Math.max(image.width, image.height));
  const canvas = new OffscreenCanvas(Math.round(image.width * scale), Math.round(image.height * scale));
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob({ type: 'image/jpeg', quality: 0.85 });
}

export function base64(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(',', 2)[1] ?? '');
    reader.onerror = () => reject(reader.error ?? new Error('The file cannot be read.'));
    reader.readAsDataURL(blob);
  });
}
