import { useEffect, useState } from 'react';
import { useDark } from '../ui/useDark';
import { CodeBlock } from '../markdown/CodeBlock';

/** A mermaid diagram, shown as a picture, in which no script runs and nothing is loaded. */
export function DiagramPicture({ code }: { code: string }) {
  const dark = useDark();
  const [drawn, setDrawn] = useState<{ url?: string; failed?: string }>({});
  useEffect(() => {
    let current = true;
    import('./diagrams')
      .then(({ diagramUrl }) => diagramUrl(code, dark))
      .then(
        (url) => current && setDrawn({ url }),
        (error: unknown) => current && setDrawn({ failed: error instanceof Error ? error.message : String(error) }),
      );
    return () => {
      current = false;
    };
  }, [code, dark]);
  if (drawn.url) return <img src={drawn.url} alt={`Diagram: ${code.slice(0, 200)}`} />;
  return (
    <>
      <CodeBlock code={code} language="mermaid" inPanel />
      {drawn.failed && <p className="meta">This diagram cannot be drawn: {drawn.failed}</p>}
    </>
  );
}
