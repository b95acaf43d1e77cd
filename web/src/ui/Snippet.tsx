/** A part of what was said, with what was looked for marked. */
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
