import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Block, blocksOf, pages } from '../docs/pages.ts';
import { Reader } from './reader.ts';

const blocks = pages()
  .filter(({ path }) => path === 'tutorial.md')
  .flatMap(({ text }) => blocksOf(text))
  // Installing Slipway itself: the reader has done the last of it, `npm link`.
  .filter(({ title }) => title !== 'once');

let reader: Reader;
beforeAll(async () => {
  reader = await Reader.begin();
});
afterAll(() => reader.leave());

describe('the tutorial, carried out as it is written, in an empty folder', () => {
  it.each(blocks.map((block) => [nameOf(block), block] as const))('is right: %s', (_, block) =>
    reader.follow(block),
  );

  it('ends with Ctrl-C in the other terminal', async () => {
    expect(await reader.interrupt()).toBe(0);
  });
});

function nameOf({ language, title, text }: Block): string {
  return `${title === '' ? language : title}: ${text.split('\n')[0] ?? ''}`;
}
