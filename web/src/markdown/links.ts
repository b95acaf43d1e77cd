const SCHEMES = new Set(['http:', 'https:', 'mailto:']);

export interface SafeLink {
  href: string;
  /** Where it leads, to be shown beside words that do not say so. */
  host: string;
}

/** A link a person may follow; everything else is shown as the text it is. */
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

/** A picture among the person's own files: it is read through this server, which knows who asks. */
export const isOwnPicture = (href: string) => /^vault\/(?!.*\.\.)[^\s:?#]+\.(png|jpe?g|gif|webp|svg)$/i.test(href);

/** A picture or document among the person's own files. */
export const isOwnFile = (href: string) => isOwnPicture(href) || /^vault\/(?!.*\.\.)[^\s:?#]+\.pdf$/i.test(href);

const INLINE_IMAGE = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/;

/** Only pictures that are in the text itself; one from elsewhere would tell that it was seen. */
export function isInlineImage(href: string): boolean {
  return INLINE_IMAGE.test(href);
}
