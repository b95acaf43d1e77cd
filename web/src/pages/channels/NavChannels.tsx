import { Link } from '@tanstack/react-router';
import { Hash } from 'lucide-react';
import { useChannels } from './data';

const MOST = 6;

/** The channels in the main navigation. */
export function NavChannels() {
  const { data } = useChannels();
  return (
    <div className="flex flex-col gap-0.5 max-xl:hidden">
      {data?.slice(0, MOST).map((channel) => (
        <Link
          key={channel.id}
          to="/channels/$channel"
          params={{ channel: channel.id }}
          className="nav-item"
          activeProps={{ 'aria-current': 'page' }}
          title={channel.purpose || channel.name}
        >
          <Hash size={14} className="-mx-0.5 shrink-0 text-dim" aria-hidden />
          <span className="truncate" dir="auto">
            {channel.name}
          </span>
        </Link>
      ))}
    </div>
  );
}
