import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Block, blocksOf } from '../docs/pages.ts';
import { essentialOutput, shownPattern } from '../docs/shownOutput.ts';
import { Reader, ROOT } from './reader.ts';
import { eventually } from './stack.ts';

/** The output before this depends on what is already installed and built. */
const DEMO_BEGINS = 'Temporal, a control plane and a worker run on this machine';
/** Commands that run until interrupted, with the text that they print first. */
const GOES_ON: Readonly<Record<string, RegExp>> = {
  'slipway watch staging': /nothing runs/,
  'slipway logs staging --follow': /\S/,
};

const blocks = blocksOf(await readFile(join(ROOT, 'README.md'), 'utf8'));
const [demo] = blocks.filter(({ text }) => text.startsWith('$ npm run demo'));
const [config] = blocks.filter(({ language }) => language === 'yaml');
const [signal] = blocks.filter(({ text }) => text.startsWith('temporal workflow signal'));
const lines = blocks
  .filter(({ language, text }) => language === 'sh' && text.startsWith('slipway plan'))
  .flatMap(({ text }) => text.trimEnd().split('\n'))
  .map((line) => line.replace(/ +#.*$/, ''));

let reader: Reader;
beforeAll(async () => {
  reader = await Reader.begin();
});
afterAll(() => reader.leave());

describe('the README, executed step by step', () => {
  it('shows the output of "npm run demo"', async () => {
    expect(await reader.type(`cd '${ROOT}'\nnpm run demo`), reader.printed).toBe(0);
    expect(essentialOutput(fromStory(reader.printed))).toMatch(shownPattern(fromStory(textOf(demo))));
  });

  it('starts everything on this machine in the agent’s repository', async () => {
    await cp(join(ROOT, 'examples/greeter'), reader.folder, { recursive: true });
    expect(await reader.type(`cd '${reader.folder}'`)).toBe(0);
    await reader.follow({ language: 'sh', title: 'other terminal', text: 'slipway dev\n' });
    await reader.follow({ language: 'text', title: '', text: '…\n✔ Slipway is ready\n…\n' });
    await reader.follow({ language: 'yaml', title: 'slipway.yaml', text: textOf(config) });
  });

  it.each(lines.map((line, index) => [line, lines.indexOf(line) < index] as const))(
    'is correct: %s',
    async (line, again) => {
      if (again) await writeFile(join(reader.folder, 'changed.txt'), 'something else\n');
      const wanted = GOES_ON[line];
      if (wanted !== undefined) await reader.typeUntil(line, wanted);
      else expect(await reader.type(line), reader.printed).toBe(0);
    },
  );

  it('rolls back by a signal from Temporal’s own command', async () => {
    await writeFile(join(reader.folder, 'changed.txt'), 'yet something else\n');
    expect(await reader.type('slipway release staging'), reader.printed).toBe(0);
    expect(await reader.type(textOf(signal)), reader.printed).toBe(0);
    await eventually(async () => {
      expect(await reader.type('slipway history staging --last 1'), reader.printed).toBe(0);
      expect(reader.printed).toMatch(/rollback-\d+.*rolled back/);
    });
    expect(await reader.type('slipway status staging')).toBe(0);
    expect(reader.printed).toMatch(/on hold since/);
  });

  it('passes the audit', async () => {
    expect(await reader.type('slipway audit'), reader.printed).toBe(0);
  });

  it('ends with Ctrl-C in the other terminal', async () => {
    expect(await reader.interrupt()).toBe(0);
  });
});

function textOf(block: Block | undefined): string {
  if (block === undefined) throw new Error('the README has no such block any more');
  return block.text;
}

/** The demo's output from its first part on, without npm's messages about the machine. */
function fromStory(output: string): string {
  const story = output.slice(Math.max(output.indexOf(DEMO_BEGINS), 0));
  return story.replaceAll(/^npm warn .*\n/gm, '');
}
