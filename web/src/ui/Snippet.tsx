/** A part of a text with the search hits highlighted. */
export function Snippet({ parts }: { parts: { text: string; hit: boolean }[] }) {
  return (
    <span dir="auto">
      {parts.map((part, index) =>
        part.hit ? (
          <mark key={index} className="found">
            {part.text}
          </mark>
        ) : (
          part.text
        ),
      )}
    </span>
  );
}
