import { useEffect, useRef } from 'react';
import { whenLoaded } from './frame';

/** A page that a model wrote, running where it reaches nothing: not this app, not the person's files, no network. */
export function HtmlPreview({ html }: { html: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    if (frame.current) return whenLoaded(frame.current, ({ send }) => send({ html }));
  }, [html]);
  return (
    <>
      <iframe
        ref={frame}
        title="Preview"
        className="min-h-80 w-full flex-1 rounded-sm border border-line bg-white"
        referrerPolicy="no-referrer"
      />
      <p className="meta mt-2">Runs by itself, without network access.</p>
    </>
  );
}
