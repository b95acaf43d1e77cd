import { expect, test } from 'vitest';
import { wordsOf } from '../src/pages/memory/review';

const sessionId = '01900000-0000-7000-8000-000000000001';
const draft = '01900000-0000-7000-8000-000000000002';

test('a review of the logs says what came of it and leads there', () => {
  expect(wordsOf({ drafts: [] })).toEqual({ text: 'There are no daily logs to review yet.', tone: 'plain' });
  expect(wordsOf({ drafts: [draft], sessionId, status: 'done' })).toEqual({
    text: 'Proposed changes are in the Inbox.',
    tone: 'plain',
    leadsTo: 'inbox',
  });
  expect(wordsOf({ drafts: [], sessionId, status: 'done' })).toEqual({
    text: 'The logs hold nothing new for memory.',
    tone: 'plain',
  });
  expect(wordsOf({ drafts: [draft], sessionId, status: 'error' })).toEqual({
    text: 'The review did not finish. What it proposed is in the Inbox.',
    tone: 'danger',
    leadsTo: 'inbox',
  });
  expect(wordsOf({ drafts: [], sessionId, status: 'interrupted' })).toEqual({
    text: 'The review did not finish.',
    tone: 'danger',
    leadsTo: 'chat',
  });
});
