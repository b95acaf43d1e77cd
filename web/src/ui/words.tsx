// Words that the server wrote, as a page shows them.

/** With a capital, as sentences begin. */
export const sentence = (text: string) => text.replace(/^[a-z]/, (letter) => letter.toUpperCase());

/** A sentence in which what stands between backticks is code. */
export function Words({ children }: { children: string }) {
  // Every second piece stood between backticks; an odd one at the end was never closed.
  const pieces = sentence(children).split('`');
  if (pieces.length % 2 === 0) return <>{pieces.join('`')}</>;
  return (
    <>
      {pieces.map((piece, place) =>
        place % 2 === 1 ? (
          <code key={place} className="font-mono text-[0.95em]">
            {piece}
          </code>
        ) : (
          piece
        ),
      )}
    </>
  );
}
