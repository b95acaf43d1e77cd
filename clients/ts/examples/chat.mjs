// Talks in the terminal: node chat.mjs "What is due today?" [session]
// ONYX_URL and ONYX_TOKEN say where and as whom.
import { createInterface } from 'node:readline/promises';
import { Onyx } from '@onyx/sdk';

const onyx = new Onyx({ baseUrl: process.env.ONYX_URL ?? 'http://127.0.0.1:18790', token: process.env.ONYX_TOKEN });
const [message = 'Hello', sessionId] = process.argv.slice(2);

async function ask(question) {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(question);
  terminal.close();
  return answer;
}

for await (const chunk of onyx.chat.stream({ message, sessionId })) {
  if (chunk.type === 'chunk') process.stdout.write(chunk.text);
  else if (chunk.type === 'done') console.error(`\nGo on: node chat.mjs "…" ${chunk.sessionId}`);
  else if (chunk.type === 'confirm' && chunk.asksFor === 'answer') {
    await onyx.drafts.approve(chunk.draftId, { reason: await ask(`${chunk.summary} `) });
  } else if (chunk.type === 'confirm') {
    const yes = (await ask(`${chunk.summary} Approve? [y/N] `)).trim() === 'y';
    await (yes ? onyx.drafts.approve(chunk.draftId) : onyx.drafts.reject(chunk.draftId));
  } else console.error(`\nWaits in your Inbox: ${chunk.summary}`);
}
