import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Block, blocksOf, pages } from '../docs/pages.ts';
import { Reader } from './reader.ts';

/** The first block installs the command in a checkout; the others run in the agent's folder. */
const [installation, ...blocks] = pages()
  .filter(({ path }) => path === 'tutorial.md')
  .flatMap(({ text }) => blocksOf(text));

/** Installation and build take 90 s, and longer while other tests run. */
const INSTALLS_WITHIN_MS = 900_000;

let reader: Reader;
beforeAll(async () => {
  reader = await Reader.beginInCheckout();
});
afterAll(() => reader.leave());

describe('the tutorial, executed step by step, in a fresh checkout and an empty folder', () => {
  it(
    'installs the command',
    async () => {
      expect(await reader.type(installation?.text ?? 'exit 1'), reader.printed).toBe(0);
      await reader.type(`cd '${reader.folder}'`);
    },
    INSTALLS_WITHIN_MS,
  );

  it.each(blocks.map((block) => [nameOf(block), block] as const))('is correct: %s', (_, block) =>
    reader.follow(block),
  );

  it('ends with Ctrl-C in the other terminal', async () => {
    expect(await reader.interrupt()).toBe(0);
  });
});

function nameOf({ language, title, text }: Block): string {
  return `${title === '' ? language : title}: ${text.split('\n')[0] ?? ''}`;
}
