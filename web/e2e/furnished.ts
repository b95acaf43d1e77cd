// A home with realistic content: long names, long code, right-to-left text, drafts, notes, several agents.

import { furnishedChannel, THREAD_ANSWERS } from './channel';
import { COMPANION_ANSWERS, HOUSE, tellCompanion } from './house';
import { stage, type Answer, type Stage } from './stage';

export interface Furnished {
  at: Stage;
  chat: string;
  thread: string;
}

const CABIN = `# Cabin

## Saturday

- Drive up after lunch
- Sauna, then dinner
- Keys: at Lena’s, she is home until 10

## Wood

The shed holds two cubic metres; order before the first snow.

שלום! הערה מימין לשמאל: להביא תה וסוכר.

| Route | Time | Risk |
|---|---:|---|
| Over the pass | 1 h 50 | closes at noon |
| Round the lake | 3 h 10 | none |

\`\`\`sh
curl -s https://roads.example.org/api/v2/status?pass=grimsel&fields=state,until,reason,contact,alternatives | jq '.state, .until, .reason'
\`\`\`
`;

const RICH = [
  'Two things. The pass closes at **noon on Saturday** for avalanche control, so leaving after lunch would mean the long way round (`notes/cabin.md:5`). See [the road report](https://roads.example.org/pass).\n\n',
  '## What changes\n\n- Drive up at 9:30\n- Keys: at *Lena’s*, she is home until 10\n  - ring twice\n- [x] wood is ordered\n- [ ] sauna booked\n\n',
  '| Route | Time | Risk |\n|---|---:|---|\n| Over the pass | 1 h 50 | closes at noon |\n| Round the lake | 3 h 10 | none |\n\n',
  '```rust\nfn leave(at: Time) -> Result<Route, Late> {\n    // the pass closes at noon, and this line is longer than any screen that people hold in their hands while they wait\n    if at < NOON { Ok(Route::Pass) } else { Err(Late(at)) }\n}\n```\n\n',
  'Fuel: $$E = \\frac{1}{2} m v^2 + \\int_0^d F(x)\\,dx$$\n\n',
  'وهذه ملاحظة من اليمين إلى اليسار: الطريق مغلق ظهر السبت.\n\n> Take chains either way.\n',
];

const AGENTS = [
  { id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'act' },
  { id: 'careful', name: 'Careful', model: 'mine/some-model', tier: 'suggest' },
  {
    id: 'the-agent-with-a-very-long-name-that-nobody-would-choose',
    name: 'The agent with a very long name that nobody would choose',
    model: 'mine/some-model',
    tier: 'read',
  },
];

const FILES = {
  ...HOUSE,
  'people/owner/USER.md': '# Mara\n\nLives in Bern, cooks, hikes. Prefers short answers.\n',
  'people/owner/vault/notes/cabin.md': CABIN,
  'people/owner/vault/notes/a-note-with-a-name-so-long-that-it-has-to-be-cut-somewhere-because-no-list-is-that-wide-on-any-phone.md':
    '# Long\n\nShort.\n',
  'people/owner/vault/日記/山小屋.md': '# 山小屋\n\n土曜日は九時半に出発。\n',
  'people/owner/memory/main/MEMORY.md':
    '# Memory\n\n- Mara drives to the cabin on Saturdays.\n- Lena keeps the keys.\n',
  'people/owner/memory/main/daily/2026-11-14.md': '- Ordered wood for the cabin.\n',
  'agents/main/SOUL.md':
    '# Main\n\nYou are calm and precise. You answer in at most five sentences, name one concrete next step, and say plainly when a hope has no ground.\n\n## Voice\n\n- Short sentences.\n- No exclamation marks.\n',
  'agents/main/tests/late.md':
    'My project is three months late, the customer has called twice, and nobody on the team has had a free weekend since the summer. What do I say to them on Monday?\n',
  'agents/main/tests/arabic.md': 'ما هو الطريق الأقصر إلى الكوخ؟\n',
  'people/owner/vault/agent/actions/Morning brief.md': 'It is {{date}}. Tell me in six lines what is due.\n',
  'people/owner/vault/agent/actions/Extract yesterday’s links into a page of their own and sort them by host.prompt.md':
    '---\nrequires_confirmation: true\nmax_steps: 8\n---\nCollect the links.\n',
  'people/owner/vault/agent/actions/Sum up.md': '---\ncolour: red\n---\nSum this up:\n\n{{selection}}\n',
  'people/owner/vault/agent/actions/Broken.md': '---\nmax_steps: many\n---\nx\n',
  'agents/main/AGENTS.md': '# How you work\n\nLook into the notes before you answer.\n',
};

export async function furnished(): Promise<Furnished> {
  const answers: Answer[] = [
    {
      text: 'I will look at your notes first.',
      calls: [{ id: 'a', name: 'read_file', input: { path: 'notes/cabin.md' } }],
    },
    {
      calls: [
        { id: 'b', name: 'list_files', input: { path: 'notes' } },
        { id: 'c', name: 'edit_file', input: { path: 'notes/cabin.md', old: 'after lunch', new: 'at 9:30' } },
      ],
    },
    { text: RICH },
    {
      calls: [
        {
          id: 'd',
          name: 'edit_file',
          input: {
            path: 'notes/cabin.md',
            old: '- Sauna, then dinner',
            new: '- Sauna booked for 17:00\n- Dinner at Lena’s',
          },
        },
      ],
    },
    { text: 'I drafted the change to your plan.' },
    {
      calls: [
        {
          id: 'e',
          name: 'write_file',
          input: {
            path: 'tasks/order-floor-samples.md',
            content:
              '# Order floor samples\n\ndue: 2026-11-20\nfrom: refs/oak-vs-larch-a-comparison-of-every-property-that-anybody-has-ever-measured.md\n',
          },
        },
      ],
    },
    { text: 'A task is proposed.' },
    ...COMPANION_ANSWERS,
    ...THREAD_ANSWERS,
  ];
  const at = await stage(answers, { agents: AGENTS, files: FILES, price: { input: 3, output: 15 } });
  const say = async (message: string, agent: string) => {
    const answer = await at.api('/api/agent/chat', { method: 'POST', body: JSON.stringify({ message, agent }) });
    return ((await answer.json()) as { session_id: string }).session_id;
  };
  const chat = await say('We drive up on Saturday. Anything in my notes that should change the plan?', 'main');
  await say('Put the sauna into the plan', 'careful');
  await say(
    'Make a task of the floor samples, please, and do not forget to link the comparison that I captured last week from the web page about oak and larch',
    'careful',
  );
  await tellCompanion(at, 'What speaks against larch here?');
  const thread = await furnishedChannel(at, 'home-renovation');
  for (let index = 0; index < 14; index += 1)
    await say(
      `Question ${index + 1}: what did the Docker talk say about layers, caches and the order in which one should copy files into an image?`,
      'main',
    );
  return { at, chat, thread };
}
