import { DiagramPicture } from '../panel/DiagramPicture';
import { CodeBlock } from './CodeBlock';

/** A diagram in an answer, with its source. */
export default function Diagram({ code }: { code: string }) {
  return (
    <figure className="diagram">
      <DiagramPicture code={code} />
      <details>
        <summary>Source</summary>
        <CodeBlock code={code} language="mermaid" />
      </details>
    </figure>
  );
}
