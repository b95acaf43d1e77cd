import { createContext, lazy, Suspense, useContext, useEffect, useState, type MouseEvent, type ReactNode } from 'react';
import type { Token, Tokens } from 'marked';
import { cut, placeOf, useCitation } from './citations';
import type { FootnoteToken, MathToken, PageLinkToken } from './lex';
import { isInlineImage, isOwnFile, isOwnPicture, safeLink } from './links';
import { Outside } from './Outside';

const Formula = lazy(() => import('./Formula'));

export function Inline({ tokens = [] }: { tokens?: Token[] }): ReactNode {
  return tokens.map((token, index) => <Piece key={index} token={token} />);
}

function Piece({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case 'text':
      return token.tokens ? <Inline tokens={token.tokens} /> : <Cited text={unescaped(token.text)} />;
    case 'escape':
      return unescaped(token.text);
    case 'strong':
      return (
        <strong>
          <Inline tokens={token.tokens} />
        </strong>
      );
    case 'em':
      return (
        <em>
          <Inline tokens={token.tokens} />
        </em>
      );
    case 'del':
      return (
        <del>
          <Inline tokens={token.tokens} />
        </del>
      );
    case 'codespan':
      return <Cited text={unescaped(token.text)} code />;
    case 'br':
      return <br />;
    case 'link':
      return <Link token={token as Tokens.Link} />;
    case 'image':
      return <Image token={token as Tokens.Image} />;
    case 'footnote_ref':
      return <FootnoteRef label={(token as FootnoteToken).label} />;
    case 'page_link':
      return <PageLink token={token as PageLinkToken} />;
    case 'math': {
      const { text, display } = token as MathToken;
      return (
        <Suspense fallback={<code>{text}</code>}>
          <Formula tex={text} display={display} />
        </Suspense>
      );
    }
    default:
      return token.raw;
  }
}

/** Jumps to the footnote in the same text; another answer may have a footnote with the same number. */
function FootnoteRef({ label }: { label: string }) {
  const show = ({ currentTarget }: MouseEvent<HTMLButtonElement>) => {
    const notes = currentTarget.closest('.prose')?.querySelectorAll<HTMLElement>('[data-footnote]');
    const note = [...(notes ?? [])].find((one) => one.dataset['footnote'] === label);
    note?.scrollIntoView({ block: 'nearest' });
    note?.focus();
  };
  return (
    <sup>
      <button type="button" className="footnote-ref" aria-label={`Footnote ${label}`} onClick={show}>
        {label}
      </button>
    </sup>
  );
}

/** Opens a page by its title, where texts may link to pages. */
export const PageLinks = createContext<((title: string) => void) | undefined>(undefined);

function PageLink({ token }: { token: PageLinkToken }): ReactNode {
  const open = useContext(PageLinks);
  if (!open) return token.raw;
  return (
    <button type="button" className="page-link" onClick={() => open(token.title)}>
      {token.words}
    </button>
  );
}

const InLink = createContext(false);

const FilePanel = lazy(() => import('../panel/FilePanel'));

/** A link to one of the person's files, which opens beside the text. */
function OwnFile({ path, words }: { path: string; words: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="page-link" title={path} onClick={() => setOpen(true)}>
        {words}
      </button>
      {open && (
        <Suspense fallback={null}>
          <FilePanel path={path} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}

function Link({ token }: { token: Tokens.Link }) {
  if (isOwnFile(token.href)) return <OwnFile path={token.href} words={token.text} />;
  const link = safeLink(token.href);
  if (!link) return <span title={token.href}>{token.raw}</span>;
  const says = token.text.includes(link.host);
  return (
    <Outside link={link}>
      <InLink value={true}>
        <Inline tokens={token.tokens} />
      </InLink>
      {!says && <span className="host"> {link.host}</span>}
    </Outside>
  );
}

/** A remote picture is shown as a link, so that showing a text loads nothing. */
function Image({ token }: { token: Tokens.Image }) {
  if (isInlineImage(token.href)) return <img src={token.href} alt={token.text} loading="lazy" />;
  if (isOwnPicture(token.href)) return <OwnPicture path={token.href} words={token.text} />;
  const link = safeLink(token.href);
  if (!link) return token.raw;
  return (
    <Outside className="remote-image" link={link}>
      Image{token.text ? `: ${token.text}` : ''} <span className="host">{link.host}</span>
    </Outside>
  );
}

/** A picture among the person's files, read with the page's own credential. */
function OwnPicture({ path, words }: { path: string; words: string }) {
  const [shown, setShown] = useState<{ url?: string; failed?: boolean }>({});
  useEffect(() => {
    let current = true;
    import('../store/pictures')
      .then(({ pictureUrl }) => pictureUrl(path))
      .then(
        (url) => current && setShown({ url }),
        () => current && setShown({ failed: true }),
      );
    return () => {
      current = false;
    };
  }, [path]);
  if (shown.failed) return <span className="meta">{words || path} (not found)</span>;
  return shown.url ? <img src={shown.url} alt={words || 'Picture'} /> : null;
}

/** A citation links to its source; inside a link it is plain text. */
function Cited({ text, code = false }: { text: string; code?: boolean }): ReactNode {
  const source = useCitation();
  const inLink = useContext(InLink);
  const bits = inLink ? [text] : cut(text, source);
  if (code && bits.every((bit) => typeof bit === 'string')) return <code>{text}</code>;
  return bits.map((bit, index) => {
    if (typeof bit === 'string') return code ? <code key={index}>{bit}</code> : bit;
    const { source: path, startLine, endLine, title, sourceId, chunkId } = bit.of;
    const place = `${path}:${startLine}–${endLine}`;
    const where = title ? `${title}, ${place}` : place;
    return (
      <a
        key={index}
        data-inside
        data-source={sourceId}
        data-chunk={chunkId}
        className={bit.number === undefined ? 'cite cite-path' : 'cite'}
        href={placeOf(bit.of)}
        title={where}
        aria-label={`Source ${where}`}
      >
        {bit.words}
      </a>
    );
  });
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** Decodes entities: the lexer leaves them to an HTML parser, and none is used here. */
function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? '');
}
