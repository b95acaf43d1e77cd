import type { ReactNode } from 'react';

/** A network that can be connected in the app, and how to create a bot there. */
export interface Network {
  id: 'telegram' | 'discord';
  name: string;
  make: ReactNode;
  placeholder: string;
  /** How to open the first chat. */
  open: string;
}

const Away = ({ to, children }: { to: string; children: ReactNode }) => (
  <a className="text-accent underline" href={to} target="_blank" rel="noreferrer noopener">
    {children}
  </a>
);

export const NETWORKS: [Network, ...Network[]] = [
  {
    id: 'telegram',
    name: 'Telegram',
    placeholder: '123456:ABC…',
    open: 'Open the chat with your bot and write something.',
    make: (
      <>
        In Telegram, write to <Away to="https://t.me/BotFather">@BotFather</Away>, send <code>/newbot</code> and choose
        a name. It answers with a token.
      </>
    ),
  },
  {
    id: 'discord',
    name: 'Discord',
    placeholder: 'MTA…',
    open: 'Invite the bot to one of your servers, then send it a private message or mention it in a channel.',
    make: (
      <>
        At <Away to="https://discord.com/developers/applications">Discord’s developer portal</Away>, create a new
        application, open <b>Bot</b> and press <b>Reset Token</b>. No other permissions are needed.
      </>
    ),
  },
];
