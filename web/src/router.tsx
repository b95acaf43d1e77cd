import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Navigate } from '@tanstack/react-router';
import { ChatPage, NewChatPage } from './chat/ChatPage';
import { Header } from './shell/Header';
import { Shell } from './shell/Shell';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const home = createRoute({ getParentRoute: () => root, path: '/', component: () => <Navigate to="/chat" replace /> });
const newChat = createRoute({
  getParentRoute: () => root,
  path: '/chat',
  validateSearch: (search: Record<string, unknown>): { text?: string; title?: string; url?: string } => ({
    text: text(search['text']),
    title: text(search['title']),
    url: text(search['url']),
  }),
  component: function NewChat() {
    const { title, text: words, url } = newChat.useSearch();
    const shared = [title, words, url].filter(Boolean).join('\n');
    return <NewChatPage shared={shared || undefined} />;
  },
});
const chat = createRoute({
  getParentRoute: () => root,
  path: '/chat/$id',
  component: function Chat() {
    const { id } = chat.useParams();
    return <ChatPage key={id} id={id} />;
  },
});
const sessions = createRoute({
  getParentRoute: () => root,
  path: '/sessions',
  component: lazyRouteComponent(() => import('./pages/Sessions'), 'SessionsPage'),
});
const inbox = createRoute({
  getParentRoute: () => root,
  path: '/inbox',
  component: lazyRouteComponent(() => import('./pages/Inbox'), 'InboxPage'),
});
const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  component: lazyRouteComponent(() => import('./pages/Settings'), 'SettingsPage'),
});
const system = createRoute({
  getParentRoute: () => root,
  path: '/system',
  component: lazyRouteComponent(() => import('./pages/System'), 'SystemPage'),
});

const routes = [home, newChat, chat, sessions, inbox, settings, system];

export const router = createRouter({ routeTree: root.addChildren(routes), defaultPreload: 'intent', scrollRestoration: false });

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function NotFound() {
  return (
    <>
      <Header title="Not found" />
      <p className="meta p-10 text-center">
        There is no page here. <a href="/chat" className="text-accent underline underline-offset-3">New chat</a>
      </p>
    </>
  );
}
