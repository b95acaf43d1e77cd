import { lazy, Suspense, useEffect, useState } from 'react';
import { kindOfFile, readBlob } from '../store/pictures';
import { ErrorLine } from '../ui/page';
import { useLoaded } from '../ui/useLoaded';

const Pdf = lazy(() => import('./Pdf'));

/** Shows a picture or a PDF among the person's files. */
export const isShown = (path: string) => kindOfFile(path) !== undefined;

export function FileView({ path }: { path: string }) {
  const file = useLoaded(`bytes ${path}`, () => readBlob(path));
  if (file.fault) return <ErrorLine fault={file.fault} action={{ label: 'Retry', run: file.reload }} />;
  if (!file.data) return <div className="skeleton h-96 w-full" role="status" aria-label="Loading" />;
  if (file.data.type !== 'application/pdf') return <Picture blob={file.data} name={path.split('/').pop() ?? path} />;
  return (
    <Suspense fallback={<div className="skeleton h-96 w-full" role="status" aria-label="Loading" />}>
      <Pdf blob={file.data} />
    </Suspense>
  );
}

function Picture({ blob, name }: { blob: Blob; name: string }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url && <img src={url} alt={name} className="mx-auto max-w-full" />;
}
