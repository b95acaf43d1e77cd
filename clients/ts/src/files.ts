import type { Http } from './http.js';

export interface StoredFile {
  text: string;
  /** Identifies this content; a write that passes it replaces nothing else. */
  version: string;
  /** Where the text came from, where the server says so: `person`, `agent`, `agent_tainted` or `external`. */
  origin?: string;
  /** The path from the person's root, where the server says so. */
  path?: string;
}

export async function readFile(http: Http, address: string, query?: { cited?: boolean }): Promise<StoredFile> {
  const response = await http.response(address, { query });
  const origin = response.headers.get('x-onyx-origin') ?? undefined;
  const path = response.headers.get('x-onyx-path');
  return {
    text: await response.text(),
    version: response.headers.get('etag') ?? '',
    origin,
    path: path === null ? undefined : decodeURIComponent(path),
  };
}

/** Writes a whole file. `version` is the version that was read; without it the file must not exist yet. */
export async function writeFile(http: Http, address: string, text: string, version?: string): Promise<string> {
  const headers: Record<string, string> =
    version === undefined ? { 'if-none-match': '*' } : version === '' ? {} : { 'if-match': version };
  const response = await http.response(address, { method: 'PUT', text, headers });
  return response.headers.get('etag') ?? '';
}

/** A file as it is sent: its media type has the name that the wire uses. */
export function withMediaType(sent: object): object {
  const { mediaType, ...rest } = sent as { mediaType?: string };
  return mediaType === undefined ? rest : { ...rest, media_type: mediaType };
}
