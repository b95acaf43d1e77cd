import { createContext } from 'react';

/** Hosts that the person named in this conversation. Links to other hosts are not live until they are pressed. */
export const NamedHosts = createContext<ReadonlySet<string>>(new Set());

const ADDRESS = /https?:\/\/[^\s<>"')\]]+/gi;

/** The hosts of the addresses in these texts. */
export function hostsIn(texts: string[]): ReadonlySet<string> {
  const hosts = new Set<string>();
  for (const text of texts) {
    for (const address of text.match(ADDRESS) ?? []) {
      if (URL.canParse(address)) hosts.add(new URL(address).host);
    }
  }
  return hosts;
}
