import { Link } from '@tanstack/react-router';
import type { Page } from '../../pages/pages';

interface NavItemProps {
  page: Page;
  label?: string;
  badge?: number;
  exact?: boolean;
  /** Shown only in the icon bar; the wide list has another link. */
  narrowOnly?: boolean;
}

/** The link to a page: its icon and name, or the icon alone in the icon bar. */
export function NavItem({ page, label = page.title, badge = 0, exact = false, narrowOnly = false }: NavItemProps) {
  const Icon = page.icon;
  return (
    <Link
      to={page.path}
      className={`nav-item max-xl:justify-center max-xl:px-0 ${narrowOnly ? 'xl:hidden' : ''}`}
      activeOptions={{ exact }}
      activeProps={{ 'aria-current': 'page' }}
      title={label}
    >
      <span className="shrink-0 text-dim">
        <Icon size={16} aria-hidden />
      </span>
      <span className="truncate max-xl:sr-only">{label}</span>
      {badge > 0 && (
        <span className="ml-auto rounded-full bg-warn-soft px-1.5 text-tiny text-warn max-xl:sr-only">
          {badge}
          <span className="sr-only"> waiting</span>
        </span>
      )}
    </Link>
  );
}
