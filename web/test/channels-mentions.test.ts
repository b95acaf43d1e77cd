import { describe, expect, test } from 'vitest';
import { callOf, completed, openMention, suggested } from '../src/chat/mentions';

const MAIN = { id: 'main', name: 'Main' };
const SCOUT = { id: 'scout', name: 'Scout' };
const LONG = { id: 'careful', name: 'The Careful One' };
const ALL = [MAIN, SCOUT, LONG];

describe('a name that is being written', () => {
  test.each([
    ['@', 1, { from: 0, query: '' }],
    ['ask @sc', 7, { from: 4, query: 'sc' }],
    ['(@main', 6, { from: 1, query: 'main' }],
    ['ask @sc about', 7, { from: 4, query: 'sc' }],
    ['ask @sc about', 13, undefined],
    ['mail a@sc', 9, undefined],
    ['see x.@sc', 9, undefined],
    ['nothing', 7, undefined],
  ])('%j at %i', (text, caret, expected) => expect(openMention(text, caret)).toEqual(expected));

  test('names that begin so come first, then those with a word that does', () => {
    const named = (query: string) => suggested(query, ALL).map(({ id }) => id);
    expect(named('')).toEqual(['main', 'scout', 'careful']);
    expect(named('ca')).toEqual(['careful']);
    expect(named('One')).toEqual(['careful']);
    expect(named('x')).toEqual([]);
  });

  test('the chosen one stands in the text as one word, and the caret after it', () => {
    expect(callOf(LONG)).toBe('@The-Careful-One');
    expect(completed('ask @sc', 7, 4, SCOUT)).toEqual({ text: 'ask @Scout ', caret: 11 });
    expect(completed('ask @sc now', 7, 4, SCOUT)).toEqual({ text: 'ask @Scout now', caret: 11 });
  });
});
