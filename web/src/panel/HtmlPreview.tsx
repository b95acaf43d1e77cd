import { useEffect, useRef, useState } from 'react';
import { whenLoaded } from './frame';

/**
 * The preview of a page that a model wrote. It can reach neither the app, nor the person's files, nor the network. Its
 * scripts run only when the person asks for it.
 */
export function HtmlPreview({ html }: { html: string }) {
  const [scripts, setScripts] = useState(false);
  const hasScripts = /<script|\son\w+\s*=/i.test(html);
  return (
    <>
      <Frame key={String(scripts)} html={html} scripts={scripts} />
      <p className="meta mt-2 flex flex-wrap items-center gap-3">
        <span>No network access.</span>
        {hasScripts && !scripts && (
          <button type="button" className="btn" onClick={() => setScripts(true)}>
            Run scripts
          </button>
        )}
      </p>
    </>
  );
}

function Frame({ html, scripts }: { html: string; scripts: boolean }) {
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    if (frame.current) return whenLoaded(frame.current, ({ send }) => send({ html, scripts }));
  }, [html, scripts]);
  return (
    <iframe
      ref={frame}
      title="Preview"
      className="min-h-80 w-full flex-1 rounded-sm border border-line bg-white"
      referrerPolicy="no-referrer"
    />
  );
}
