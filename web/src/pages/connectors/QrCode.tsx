import type { TestedAccount } from '@onyx/sdk';

/** A link as a QR code for a phone. It is dark on white in every theme, so that cameras can read it. */
export function QrCode({ qr, label }: { qr: NonNullable<TestedAccount['qr']>; label: string }) {
  return (
    <svg
      viewBox={`0 0 ${qr.size} ${qr.size}`}
      role="img"
      aria-label={label}
      className="size-44 rounded-sm"
      shapeRendering="crispEdges"
    >
      <rect width={qr.size} height={qr.size} fill="#fff" />
      <path d={qr.path} fill="#000" />
    </svg>
  );
}
