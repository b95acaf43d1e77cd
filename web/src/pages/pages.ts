import { lazyRouteComponent, type RouteComponent } from '@tanstack/react-router';
import {
  Activity,
  BookOpen,
  Cable,
  CalendarClock,
  GraduationCap,
  Hash,
  Inbox,
  LayoutGrid,
  Menu,
  MessageSquare,
  Plug,
  Plus,
  Puzzle,
  SlidersHorizontal,
  Users,
  Zap,
  type LucideIcon,
} from 'lucide-react';

/** A page of the app: its address, its name, and which navigation links to it. */
export interface Page {
  path: string;
  title: string;
  icon: LucideIcon;
  /** The page, if its address has no parameters. The router makes the routes of the others. */
  component?: RouteComponent;
  /** Who finds it in the list at the bottom of a wide screen's navigation. */
  listedFor?: 'everybody' | 'owner';
  /** What the page “More” of a phone says about it; without this, that page does not list it. */
  detail?: string;
}

/** All pages that navigation can link to, in the order in which it lists them. */
export const PAGES = {
  newChat: { path: '/chat', title: 'New chat', icon: Plus },
  inbox: {
    path: '/inbox',
    title: 'Inbox',
    icon: Inbox,
    component: lazyRouteComponent(() => import('./Inbox'), 'InboxPage'),
  },
  sessions: {
    path: '/sessions',
    title: 'Chats',
    icon: MessageSquare,
    component: lazyRouteComponent(() => import('./sessions/SessionsPage'), 'SessionsPage'),
  },
  spaces: {
    path: '/spaces',
    title: 'Spaces',
    icon: LayoutGrid,
    component: lazyRouteComponent(() => import('./spaces/SpacesPage'), 'SpacesPage'),
  },
  channels: {
    path: '/channels',
    title: 'Channels',
    icon: Hash,
    component: lazyRouteComponent(() => import('./channels/ChannelsPage'), 'ChannelsPage'),
    detail: 'Threads with several agents',
  },
  memory: {
    path: '/memory',
    title: 'Memory',
    icon: BookOpen,
    listedFor: 'everybody',
    detail: 'Files and what is known from them',
  },
  agents: {
    path: '/agents',
    title: 'Agents',
    icon: Users,
    component: lazyRouteComponent(() => import('./agents/AgentsPage'), 'AgentsPage'),
    detail: 'Who answers, and what they may do',
  },
  actions: {
    path: '/actions',
    title: 'Actions',
    icon: Zap,
    component: lazyRouteComponent(() => import('./actions/ActionsPage'), 'ActionsPage'),
    listedFor: 'everybody',
    detail: 'Prompts as buttons',
  },
  jobs: {
    path: '/jobs',
    title: 'Jobs',
    icon: CalendarClock,
    component: lazyRouteComponent(() => import('./jobs/JobsPage'), 'JobsPage'),
    listedFor: 'everybody',
    detail: 'Work on a schedule',
  },
  skills: {
    path: '/skills',
    title: 'Skills',
    icon: GraduationCap,
    component: lazyRouteComponent(() => import('./skills/SkillsPage'), 'SkillsPage'),
    listedFor: 'everybody',
  },
  mcp: {
    path: '/tools',
    title: 'MCP servers',
    icon: Plug,
    component: lazyRouteComponent(() => import('./mcp/McpPage'), 'McpPage'),
    listedFor: 'everybody',
  },
  plugins: {
    path: '/plugins',
    title: 'Plugins',
    icon: Puzzle,
    component: lazyRouteComponent(() => import('./plugins/PluginsPage'), 'PluginsPage'),
    listedFor: 'owner',
  },
  connectors: {
    path: '/connectors',
    title: 'Connectors',
    icon: Cable,
    component: lazyRouteComponent(() => import('./connectors/ConnectorsPage'), 'ConnectorsPage'),
    listedFor: 'owner',
  },
  system: {
    path: '/system',
    title: 'System',
    icon: Activity,
    listedFor: 'everybody',
    detail: 'Health, logs, usage',
  },
  settings: {
    path: '/settings',
    title: 'Settings',
    icon: SlidersHorizontal,
    listedFor: 'everybody',
    detail: 'Appearance, providers, people',
  },
  more: {
    path: '/more',
    title: 'More',
    icon: Menu,
    component: lazyRouteComponent(() => import('./More'), 'MorePage'),
  },
} as const satisfies Record<string, Page>;

export const ALL_PAGES: readonly Page[] = Object.values(PAGES);
