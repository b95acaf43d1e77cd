import { useEffect, useRef, useState } from 'react';
import type { PDFDocumentProxy } from 'pdfjs-dist';

/** The number of pages shown; the downloaded file has all of them. */
const MOST_PAGES = 50;
const SHARPNESS = 2;

/** The library with its worker's code: a separate worker would need an exception from the app's policy. */
async function open(bytes: ArrayBuffer): Promise<PDFDocumentProxy> {
  const [pdf, worker] = await Promise.all([import('pdfjs-dist'), import('pdfjs-dist/build/pdf.worker.mjs')]);
  Object.assign(globalThis, { pdfjsWorker: worker });
  return pdf.getDocument({ data: new Uint8Array(bytes), useWasm: false, enableXfa: false }).promise;
}

/** A PDF as a column of pages, with its text for screen readers. Its scripts do not run. */
export default function Pdf({ blob }: { blob: Blob }) {
  const [opened, setOpened] = useState<PDFDocumentProxy>();
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let document: PDFDocumentProxy | undefined;
    let current = true;
    blob
      .arrayBuffer()
      .then(open)
      .then((made) => {
        document = made;
        if (current) setOpened(made);
        else void made.loadingTask.destroy();
      })
      .catch(() => current && setFailed(true));
    return () => {
      current = false;
      void document?.loadingTask.destroy();
    };
  }, [blob]);
  if (failed) return <p className="meta p-4">This PDF cannot be shown. Download it to open it elsewhere.</p>;
  if (!opened) return <div className="skeleton h-96 w-full" role="status" aria-label="Loading" />;
  const pages = Math.min(opened.numPages, MOST_PAGES);
  return (
    <div className="flex flex-col gap-3">
      {Array.from({ length: pages }, (_, index) => (
        <PdfPage key={index} of={opened} number={index + 1} />
      ))}
      {opened.numPages > pages && (
        <p className="meta">
          The first {pages} of {opened.numPages} pages. Download the file for all of them.
        </p>
      )}
    </div>
  );
}

function PdfPage({ of, number }: { of: PDFDocumentProxy; number: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [words, setWords] = useState('');
  useEffect(() => {
    let task: { cancel: () => void } | undefined;
    let current = true;
    void of
      .getPage(number)
      .then(async (page) => {
        const { current: element } = canvas;
        if (!element || !current) return;
        const width = element.parentElement?.clientWidth ?? 640;
        const natural = page.getViewport({ scale: 1 });
        const viewport = page.getViewport({ scale: (width / natural.width) * SHARPNESS });
        Object.assign(element, { width: Math.floor(viewport.width), height: Math.floor(viewport.height) });
        const rendering = page.render({ canvas: element, viewport });
        task = rendering;
        await rendering.promise;
        const text = await page.getTextContent();
        if (current) setWords(text.items.map((item) => ('str' in item ? item.str : '')).join(' '));
      })
      // A page that was closed in the meantime is not drawn.
      .catch(() => undefined);
    return () => {
      current = false;
      task?.cancel();
    };
  }, [of, number]);
  return (
    <figure aria-label={`Page ${number}`}>
      <canvas ref={canvas} className="w-full border border-line bg-white" aria-hidden />
      <figcaption className="sr-only">{words}</figcaption>
    </figure>
  );
}
