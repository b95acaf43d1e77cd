import { createElement, useMemo, type CSSProperties, type ReactNode } from 'react';
import temml from 'temml';

/** The elements that the converter produces. React draws them, so no markup is parsed as HTML. */
interface MathNode {
  type?: string;
  text?: string;
  attributes?: Record<string, string>;
  style?: Record<string, string>;
  classes?: string[];
  children?: MathNode[];
}

const ELEMENTS = new Set(
  'math menclose merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mroot mrow ms mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover semantics'.split(
    ' ',
  ),
);
const ATTRIBUTES = new Set(
  'accent accentunder columnalign columnlines columnspacing columnspan depth display displaystyle fence form height largeop linethickness lspace mathvariant maxsize minsize movablelimits notation rowlines rowspacing rowspan rspace scriptlevel separator stretchy symmetric voffset width xmlns'.split(
    ' ',
  ),
);

export default function Formula({ tex, display }: { tex: string; display: boolean }) {
  const drawn = useMemo(() => draw(tex, display), [tex, display]);
  if (!drawn) return <code className="math-error">{tex}</code>;
  return display ? (
    <div className="math-block" tabIndex={0} role="group" aria-label="Formula">
      {drawn}
    </div>
  ) : (
    drawn
  );
}

function draw(tex: string, display: boolean): ReactNode {
  try {
    const options = { displayMode: display, throwOnError: true, trust: false, maxExpand: 500, maxSize: [20, 40] };
    const convert = (temml as unknown as { __renderToMathMLTree: (tex: string, options: object) => MathNode })
      .__renderToMathMLTree;
    return element(convert(tex, options), 0);
  } catch {
    return undefined;
  }
}

function element(node: MathNode, key: number): ReactNode {
  if (node.text !== undefined && !node.type) return node.text;
  const children = node.children?.map(element);
  if (!node.type || !ELEMENTS.has(node.type)) return children;
  const attributes = Object.entries(node.attributes ?? {}).filter(([name]) => ATTRIBUTES.has(name));
  const style = node.style && Object.keys(node.style).length > 0 ? (node.style as CSSProperties) : undefined;
  const className = node.classes?.filter(Boolean).join(' ') || undefined;
  const properties = { ...Object.fromEntries(attributes), key, style, className };
  return createElement(node.type, properties, ...(children ?? []));
}
