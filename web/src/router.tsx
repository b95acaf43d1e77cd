import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
  useParams,
  type ErrorComponentProps,
  type RouteComponent,
} from '@tanstack/react-router';
import { entityOf } from './chat/attached';
import { ChatPage } from './chat/ChatPage';
import { NewChatPage } from './chat/NewChatPage';
import { Header } from './shell/Header';
import { Shell } from './shell/Shell';
import { ErrorLine } from './ui/page';
import type { MemoryPlace } from './pages/memory/MemoryPage';
import { PAGES } from './pages/pages';

const Memory = lazyRouteComponent(() => import('./pages/memory/MemoryPage'), 'MemoryPage');
const Agent = lazyRouteComponent(() => import('./pages/agents/AgentPage'), 'AgentPage');
const Channel = lazyRouteComponent(() => import('./pages/channels/ChannelPage'), 'ChannelPage');
const Thread = lazyRouteComponent(() => import('./pages/channels/ThreadPage'), 'ThreadPage');
const FindThread = lazyRouteComponent(() => import('./pages/channels/ThreadPage'), 'FindThread');
const Settings = lazyRouteComponent(() => import('./pages/settings/SettingsPage'), 'SettingsPage');
const Space = lazyRouteComponent(() => import('./pages/spaces/SpacePage'), 'SpacePage');
const System = lazyRouteComponent(() => import('./pages/system/SystemPage'), 'SystemPage');

interface NewChatSearch {
  /** The entity that the new chat is about. */
  about?: string;
  text?: string;
  title?: string;
  url?: string;
  files?: number;
}

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

type FixedPage = Extract<(typeof PAGES)[keyof typeof PAGES], { component: unknown }>;
/** The route of one page, with its own address as type, so that links to it are checked. */
type FixedRoute<Row> = Row extends { path: infer Path extends string } ? ReturnType<typeof fixedRoute<Path>> : never;

function fixedRoute<Path extends string>(page: { path: Path; component: RouteComponent }) {
  return createRoute({ getParentRoute: () => root, path: page.path, component: page.component });
}

/** The routes of all pages without parameters, from the table of pages. */
const fixedPages = Object.values(PAGES).filter((page): page is FixedPage => 'component' in page);
const fixed = fixedPages.map((page) => fixedRoute(page)) as unknown as FixedRoute<FixedPage>[];

const home = createRoute({ getParentRoute: () => root, path: '/', component: () => <Navigate to="/chat" replace /> });
const newChat = createRoute({
  getParentRoute: () => root,
  path: PAGES.newChat.path,
  validateSearch: (search: Record<string, unknown>): NewChatSearch => ({
    about: text(search['about']),
    text: text(search['text']),
    title: text(search['title']),
    url: text(search['url']),
    files: line(search['files']),
  }),
  component: function NewChat() {
    const { about, title, text: words, url, files } = newChat.useSearch();
    const shared = [title, words, url].filter(Boolean).join('\n');
    return (
      <NewChatPage key={about} shared={shared || undefined} sharedFiles={files !== undefined} about={entityOf(about)} />
    );
  },
});
const chat = createRoute({
  getParentRoute: () => root,
  path: '/chat/$id',
  validateSearch: (search: Record<string, unknown>): { turn?: string } => ({ turn: text(search['turn']) }),
  component: function Chat() {
    const { id } = chat.useParams();
    return <ChatPage key={id} id={id} turn={chat.useSearch().turn} />;
  },
});
const memory = createRoute({
  getParentRoute: () => root,
  path: PAGES.memory.path,
  validateSearch: (search: Record<string, unknown>): MemoryPlace => ({
    entity: text(search['entity']),
    known: search['known'] === true || undefined,
    q: text(search['q']),
    path: text(search['path']),
    cited: text(search['cited']),
    line: line(search['line']),
    last: line(search['last']),
  }),
  component: function MemoryRoute() {
    return <Memory place={memory.useSearch()} />;
  },
});
// The whole space is one route, so that moving within it keeps the companion's state.
const space = createRoute({
  getParentRoute: () => root,
  path: '/spaces/$space',
  component: function SpaceRoute() {
    const { space: id, place = 'pages', entity } = useParams({ strict: false });
    return <Space id={id ?? ''} place={place} entity={entity} />;
  },
});
const spacePlace = createRoute({ getParentRoute: () => space, path: '$place' });
const spaceEntity = createRoute({ getParentRoute: () => space, path: '$place/$entity' });
const authorize = createRoute({
  getParentRoute: () => root,
  path: '/oauth/authorize',
  component: lazyRouteComponent(() => import('./pages/oauth/AuthorizePage'), 'AuthorizePage'),
});
const agent = createRoute({
  getParentRoute: () => root,
  path: '/agents/$id/$tab',
  component: function AgentRoute() {
    const { id, tab } = agent.useParams();
    return <Agent id={id} tab={tab} />;
  },
});
const channel = createRoute({
  getParentRoute: () => root,
  path: '/channels/$channel',
  component: function ChannelRoute() {
    const id = channel.useParams().channel;
    return <Channel key={id} id={id} />;
  },
});
const thread = createRoute({
  getParentRoute: () => root,
  path: '/channels/$channel/$thread',
  component: function ThreadRoute() {
    const params = thread.useParams();
    return <Thread channelId={params.channel} id={params.thread} />;
  },
});
const threadAlone = createRoute({
  getParentRoute: () => root,
  path: '/threads/$id',
  component: function ThreadAlone() {
    return <FindThread id={threadAlone.useParams().id} />;
  },
});
const settings = createRoute({ getParentRoute: () => root, path: PAGES.settings.path, component: () => <Settings /> });
const settingsSection = createRoute({
  getParentRoute: () => root,
  path: '/settings/$section',
  component: function SettingsRoute() {
    return <Settings section={settingsSection.useParams().section} />;
  },
});
const system = createRoute({ getParentRoute: () => root, path: PAGES.system.path, component: () => <System /> });
const systemTab = createRoute({
  getParentRoute: () => root,
  path: '/system/$tab',
  component: function SystemRoute() {
    return <System tab={systemTab.useParams().tab} />;
  },
});

const routes = [
  ...fixed,
  home,
  newChat,
  chat,
  memory,
  space.addChildren([spacePlace, spaceEntity]),
  channel,
  thread,
  threadAlone,
  authorize,
  agent,
  settings,
  settingsSection,
  system,
  systemTab,
];

export const router = createRouter({
  routeTree: root.addChildren(routes),
  defaultPreload: 'intent',
  scrollRestoration: false,
  defaultErrorComponent: Broken,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function line(value: unknown): number | undefined {
  const number = Number(value);
  return Number.isInteger(number) && number > 0 ? number : undefined;
}

/** Shown for a page that threw an error; the rest of the app keeps working. */
function Broken({ error }: ErrorComponentProps) {
  const why = error instanceof Error ? error.message : String(error);
  return (
    <>
      <Header title="This page broke" />
      <div className="p-6">
        <div className="mx-auto max-w-[760px]">
          <ErrorLine
            fault={{
              code: 'internal',
              message: `This page cannot be shown: ${why}`,
              hint: 'Nothing you sent is lost.',
            }}
            action={{ label: 'Reload', run: () => location.reload() }}
          />
        </div>
      </div>
    </>
  );
}

function NotFound() {
  return (
    <>
      <Header title="Not found" />
      <p className="meta p-10 text-center">
        This page does not exist.{' '}
        <a href="/chat" className="text-accent underline underline-offset-3">
          New chat
        </a>
      </p>
    </>
  );
}
