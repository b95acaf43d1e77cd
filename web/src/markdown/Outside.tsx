import { useContext, type KeyboardEvent, type MouseEvent, type ReactNode } from 'react';
import { NamedHosts } from './namedHosts';
import type { SafeLink } from './links';

/**
 * A link to another site. Browsers look up the host of a live link when the mouse comes near it, which tells the owner
 * of that host that the text was read. A link to a host that the person did not name is live only once it is pressed.
 */
export function Outside({ link, className, children }: { link: SafeLink; className?: string; children: ReactNode }) {
  const named = useContext(NamedHosts);
  if (link.href.startsWith('mailto:') || named.has(link.host)) {
    return (
      <a href={link.href} target="_blank" rel="noopener noreferrer nofollow" title={link.href} className={className}>
        {children}
      </a>
    );
  }
  const follow = (event: MouseEvent | KeyboardEvent) => {
    event.preventDefault();
    window.open(link.href, '_blank', 'noopener,noreferrer');
  };
  return (
    <span
      role="link"
      tabIndex={0}
      title={link.href}
      className={`outside ${className ?? ''}`}
      onClick={follow}
      onAuxClick={(event) => event.button === 1 && follow(event)}
      onKeyDown={(event) => event.key === 'Enter' && follow(event)}
    >
      {children}
    </span>
  );
}
