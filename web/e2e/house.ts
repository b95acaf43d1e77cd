// A space with realistic content: long names, right-to-left text, tasks in every state, a captured ref.

import type { Answer, Stage } from './stage';

const at = (path: string) => `people/owner/spaces/home-renovation/${path}`;
const task = (title: string, status: string, more = '') => `---\ntitle: ${title}\nstatus: ${status}\n${more}---\n`;

const FLOOR = `---
title: "Floor: oak or larch"
tags: [floor, wood]
---
The living room gets most of the sun and all of the dog. Larch is cheaper by a third and softens underfoot; oak takes the claws.

- Samples from two mills before the end of the month
- Check whether the old joists carry 22 mm boards
- Oil, not lacquer: we can mend it ourselves

| Wood | Hardness | Price |
|---|---:|---:|
| Oak | 4.0 kN | 96 |
| Larch | 3.4 kN | 64 |

> Open question: underfloor heating limits the board width to 140 mm. Ask the mill what they guarantee.

שלום! הערה מימין לשמאל: לבדוק את הרוחב של הלוחות.

\`\`\`sh
curl -s https://mill.example.org/api/v2/boards?wood=oak,larch\\&width=140\\&thickness=22\\&fields=price,stock,hardness,origin | jq '.boards[] | {wood, price}'
\`\`\`
`;

export const HOUSE: Record<string, string> = {
  [at('space.json')]: JSON.stringify({ name: 'Home renovation', default_agent: 'careful' }),
  [at('pages/floor.md')]: FLOOR,
  [at('pages/kitchen.md')]: '---\ntitle: Kitchen\n---\nGas goes, induction comes.\n',
  [at('pages/long.md')]:
    '---\ntitle: A page with a name so long that it has to be cut somewhere because no list is that wide on any phone that people hold in their hands\n---\nShort.\n',
  [at('pages/山小屋.md')]: '---\ntitle: 山小屋の床\n---\n土曜日は九時半に出発。\n',
  [at('tasks/samples.md')]: task('Order floor samples', 'todo', 'due: 2026-11-20\ntags: [floor]\n'),
  [at('tasks/joists.md')]: task(
    'Ask the carpenter whether the old joists carry boards of 22 mm, and who answers for it if they do not',
    'doing',
  ),
  [at('tasks/permit.md')]: task('Permit for the balcony', 'waiting'),
  [at('tasks/paint.md')]: task('Paint the hall', 'done'),
  [at('refs/oak-vs-larch.md')]:
    '---\ntitle: Oak and larch compared\norigin: external\nsource: https://wood.example.org/oak-vs-larch?utm_source=a-very-long-address-that-nobody-reads-to-its-end\n---\nOak: 4.0 kN. Larch: 3.4 kN.\n',
  [at('projects/attic.md')]: '---\ntitle: Attic\nstatus: active\n---\nA room for guests by spring.\n',
};

export const COMPANION_ANSWERS: Answer[] = [
  {
    calls: [
      { id: 'h1', name: 'search', input: { query: 'larch' } },
      { id: 'h2', name: 'read', input: { type: 'page', id: 'floor' } },
    ],
  },
  {
    text: 'Softness, mostly: your own note gives larch 3.4 kN against oak’s 4.0, and there is the dog. I would make samples a task.',
    calls: [
      {
        id: 'h3',
        name: 'propose_change',
        input: {
          op: 'create',
          type: 'task',
          title: 'Order floor samples',
          body: 'Two mills, oak and larch.',
          status: 'todo',
        },
      },
    ],
  },
  { text: 'The task is drafted.' },
];

/** Sends a message to the companion of the space and waits for the answer. */
export async function tellCompanion(stage: Stage, content: string, space = 'home-renovation'): Promise<string> {
  const { conversation_id: id } = (await (await stage.api(`/api/spaces/${space}/companion`)).json()) as {
    conversation_id: string;
  };
  const posted = await stage.api(`/api/conversations/${id}/messages`, {
    method: 'POST',
    body: JSON.stringify({ content, view: { entityType: 'page', entityId: 'floor' } }),
  });
  const { message_id: message } = (await posted.json()) as { message_id: string };
  await (await stage.api(`/api/conversations/${id}/stream?messageId=${message}`)).text();
  return id;
}
