const SCHEMES = new Set(['http:', 'https:', 'mailto:']);

export interface SafeLink {
  href: string;
  /** The host of the link, shown beside link text that does not name it. */
  host: string;
}

/** A link that a person may follow; anything else is shown as text. */
export function safeLink(href: string): SafeLink | undefined {
  let url: URL;
  try {
    url = new URL(href);
  } catch {
    return undefined;
  }
  if (!SCHEMES.has(url.protocol)) return undefined;
  return { href: url.href, host: url.protocol === 'mailto:' ? url.pathname : url.host };
}

/** The path of a picture among the person's files; it is loaded from this server with the person's credential. */
export const isOwnPicture = (href: string) => /^vault\/(?!.*\.\.)[^\s:?#]+\.(png|jpe?g|gif|webp|svg)$/i.test(href);

/** A picture or document among the person's own files. */
export const isOwnFile = (href: string) => isOwnPicture(href) || /^vault\/(?!.*\.\.)[^\s:?#]+\.pdf$/i.test(href);

const INLINE_IMAGE = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/;

/** Only pictures embedded in the text; loading a remote one would reveal that the text was read. */
export function isInlineImage(href: string): boolean {
  return INLINE_IMAGE.test(href);
}
