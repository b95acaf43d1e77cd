const HEIGHT = 160;
const GAP = 0.28;

/** One bar for each day, with a table for screen readers. */
export function Bars({
  bars,
  words,
  label,
}: {
  bars: { label: string; value: number }[];
  words: (amount: number) => string;
  label: string;
}) {
  const highest = Math.max(...bars.map((bar) => bar.value));
  const most = highest || 1;
  const shown = [bars[0], bars[Math.floor(bars.length / 2)], bars.at(-1)];
  return (
    <figure>
      <div className="flex gap-2">
        <div className="flex w-14 flex-col justify-between text-right text-tiny text-dim tabular-nums" aria-hidden>
          <span>{highest > 0 && words(highest)}</span>
          <span>{highest > 0 && words(highest / 2)}</span>
          <span>0</span>
        </div>
        <svg
          viewBox={`0 0 ${bars.length} ${HEIGHT}`}
          preserveAspectRatio="none"
          className="h-40 min-w-0 flex-1 border-b border-line"
          role="img"
          aria-label={label}
        >
          {[0.5, HEIGHT / 2].map((y) => (
            <line
              key={y}
              x1={0}
              x2={bars.length}
              y1={y}
              y2={y}
              stroke="var(--line)"
              strokeWidth={1}
              vectorEffect="non-scaling-stroke"
            />
          ))}
          {bars.map((bar, index) => {
            const height = (bar.value / most) * (HEIGHT - 4);
            return (
              <g key={bar.label}>
                <title>{`${bar.label}: ${words(bar.value)}`}</title>
                <rect x={index} y={0} width={1} height={HEIGHT} fill="transparent" />
                <rect x={index + GAP / 2} y={HEIGHT - height} width={1 - GAP} height={height} fill="var(--accent)" />
              </g>
            );
          })}
        </svg>
      </div>
      <div className="mt-1 ml-16 flex justify-between text-tiny text-dim tabular-nums" aria-hidden>
        {shown.map((bar, index) => (
          <span key={index}>{bar?.label.slice(5)}</span>
        ))}
      </div>
      <table className="sr-only">
        <caption>{label}</caption>
        <tbody>
          {bars
            .filter((bar) => bar.value > 0)
            .map((bar) => (
              <tr key={bar.label}>
                <th scope="row">{bar.label}</th>
                <td>{words(bar.value)}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </figure>
  );
}
