import { useEffect, useState } from 'react';
import { useDark } from '../ui/useDark';
import { CodeBlock } from './CodeBlock';

/** A mermaid diagram, shown as a picture: inside one nothing runs and nothing loads. */
export default function Diagram({ code }: { code: string }) {
  const dark = useDark();
  const [drawn, setDrawn] = useState<{ url?: string; failed?: string }>({});
  useEffect(() => {
    let current = true;
    import('./diagram-svg')
      .then(({ diagramUrl }) => current && setDrawn({ url: diagramUrl(code, dark) }))
      .catch((error: unknown) => setDrawn({ failed: error instanceof Error ? error.message : String(error) }));
    return () => {
      current = false;
    };
  }, [code, dark]);
  if (!drawn.url) {
    return (
      <>
        <CodeBlock code={code} language="mermaid" />
        {drawn.failed && <p className="meta">This diagram cannot be drawn: {drawn.failed}</p>}
      </>
    );
  }
  return (
    <figure className="diagram">
      <img src={drawn.url} alt={`Diagram: ${code.slice(0, 200)}`} />
      <details>
        <summary>Source</summary>
        <CodeBlock code={code} language="mermaid" />
      </details>
    </figure>
  );
}
