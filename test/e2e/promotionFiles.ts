import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { stringify } from 'yaml';

import { type Project, QUICK_STEPS } from './project.ts';

export const EVERY_MS = 2_000;
const INPUTS = 100;
/** The candidate fails on so many of a hundred inputs. */
const BREAKING = 5;

/** Writes `slipway.yaml` with the promotions, and the inputs of their judges. */
export async function writePromotions({ folder }: Project, controlPlane: string): Promise<void> {
  const file = (count: number, text: (index: number) => string): string =>
    Array.from({ length: count }, (_, index) =>
      JSON.stringify({ input: { messages: [{ role: 'user', content: text(index) }] } }),
    ).join('\n');
  await writeFile(join(folder, 'slipway.yaml'), stringify(config(controlPlane)));
  const breaks = (index: number): string => (index < BREAKING ? `break ${index}` : `hello ${index}`);
  await writeFile(join(folder, 'all.jsonl'), file(INPUTS, breaks));
  await writeFile(
    join(folder, 'few.jsonl'),
    file(BREAKING, (index) => `hello ${index}`),
  );
  await writeFile(
    join(folder, 'slow.jsonl'),
    file(60, (index) => `slowly ${index}`),
  );
}

function config(controlPlane: string): object {
  const target = (deployment: string) => ({
    controlPlane,
    apiKey: { from: 'env:SLIPWAY_API_KEY' },
    deployment,
  });
  const promotion = { from: 'canary', to: 'production', checkEvery: '1s' };
  const always = { name: 'always', from: '2020-01-01', until: '2999-01-01' };
  const judge = {
    assistant: 'greeter',
    concurrency: 8,
    repetitions: 1,
    warmUpRuns: 1,
    onInconclusive: 'fail',
  };
  return {
    targets: { canary: target('canary'), production: target('production') },
    checks: [
      {
        name: 'greets',
        assistant: 'greeter',
        input: { messages: [{ role: 'user', content: 'Hello, I am Ada' }] },
        expect: { contains: 'Ada' },
        timeout: '20s',
      },
    ],
    steps: QUICK_STEPS,
    promotions: {
      plain: { ...promotion, soak: '2s', bake: '1s' },
      long: { ...promotion, soak: '1h' },
      baked: { ...promotion, bake: '1h' },
      guarded: { ...promotion, approval: { within: '2m' }, freezes: [{ ...always, then: 'wait' }] },
      frozen: { ...promotion, soak: '1s', freezes: [{ ...always, then: 'refuse' }] },
      slower: {
        ...promotion,
        judge: { ...judge, inputs: 'slow.jsonl', concurrency: 12, metrics: { latency: 0.05 } },
      },
      worse: {
        ...promotion,
        judge: { ...judge, inputs: 'all.jsonl', metrics: { success: 0.03 } },
      },
      unsure: {
        ...promotion,
        judge: { ...judge, inputs: 'few.jsonl', onInconclusive: 'ask' },
      },
      scheduled: {
        ...promotion,
        schedule: { every: `${EVERY_MS / 1_000}s`, jitter: '0s', overlap: 'skip', catchUp: '10s' },
      },
      triggered: { ...promotion, approval: { within: '2m' }, schedule: { every: '30d', jitter: '0s' } },
    },
  };
}
