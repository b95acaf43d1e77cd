// Shows sentences that the server wrote.

/** The text with a capital first letter. */
export const sentence = (text: string) => text.replace(/^[a-z]/, (letter) => letter.toUpperCase());

/** A sentence with the text between backticks shown as code. */
export function Words({ children }: { children: string }) {
  // Every second piece was between backticks; an odd last one was never closed.
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
