import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { openArtifactStore } from '../../../../src/artifact/openArtifactStore.ts';
import { type JudgeOptions, runJudgeCommand } from '../../../../src/cli/commands/judge/judge.ts';
import type { JudgeReport } from '../../../../src/domain/judge/report.ts';
import type { SeenRequest } from '../../../clients/faultyService.ts';
import { startFakeAgent } from '../../../judge/fakeAgent.ts';
import { testOutput } from '../../testOutput.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';

it('slipway judge neither prints nor keeps a key that an agent repeats', async () => {
  const folder = await temporaryFolder();
  const [inputs, markdown] = [join(folder, 'inputs.jsonl'), join(folder, 'judge.md')];
  await writeFile(inputs, JSON.stringify({ input: {}, expect: { contains: 'Hello' } }));
  const key = 'sk-very-secret';
  const agent = await startFakeAgent({ answers: () => `I run with ${key}` });
  const output = testOutput({ json: true });
  const home = join(folder, 'home');
  await runJudgeCommand(
    { output, home, environment: { SLIPWAY_API_KEY: key } },
    {
      baseline: agent.url,
      candidate: agent.url,
      assistant: 'agent',
      inputs,
      markdown,
      apiKey: 'env:SLIPWAY_API_KEY',
      repetitions: 3,
      warmUp: 0,
      concurrency: 1,
      seed: 7,
    },
  );
  const store = openArtifactStore(join(home, 'artifacts'));
  const [kept = ''] = await store.listRecords('judgements/');
  const texts = [JSON.stringify(output.events), await readFile(markdown, 'utf8')];
  for (const text of [...texts, JSON.stringify(await store.getRecord(kept))]) {
    // Markdown escapes the brackets.
    expect(text).toMatch(/I run with \\*\[removed/);
    expect(text).not.toContain(key);
  }
});

describe('the keys that slipway judge sends', () => {
  it.each([
    ['none, because the control plane has another origin', {}, undefined, undefined],
    ['the key that --api-key names, to both', { apiKey: 'env:AGENTS_KEY' }, 'agents-key', 'agents-key'],
    ['the key of the candidate alone', { candidateApiKey: 'env:AGENTS_KEY' }, undefined, 'agents-key'],
  ])('%s', async (_, keys, baselineKey, candidateKey) => {
    const { baseline, candidate } = await judged(keys);
    const keysOf = (requests: readonly SeenRequest[]): Set<unknown> =>
      new Set(requests.map(({ headers }) => headers['x-api-key']));
    expect(keysOf(baseline)).toEqual(new Set([baselineKey]));
    expect(keysOf(candidate)).toEqual(new Set([candidateKey]));
  });

  it('name the option if an agent requires a key', async () => {
    const { report } = await judged({}, 401);
    expect(report.reasons.join('\n')).toMatch(/^the \w+ could not be asked .* --(candidate-)?api-key/);
  });
});

/** Judges two agents at two origins, with the control plane's key in the environment too. */
async function judged(
  keys: Pick<JudgeOptions, 'apiKey' | 'candidateApiKey'>,
  status?: number,
): Promise<Record<'baseline' | 'candidate', readonly SeenRequest[]> & { report: JudgeReport }> {
  const folder = await temporaryFolder();
  const inputs = join(folder, 'inputs.jsonl');
  await writeFile(inputs, JSON.stringify({ input: {} }));
  const start = () =>
    startFakeAgent({
      instead: (_, response) => status !== undefined && Boolean(response.writeHead(status).end('{}')),
    });
  const [baseline, candidate] = [await start(), await start()];
  const output = testOutput({ json: true });
  await runJudgeCommand(
    { output, home: folder, environment: { SLIPWAY_API_KEY: 'control-plane-key', AGENTS_KEY: 'agents-key' } },
    {
      baseline: baseline.url,
      candidate: candidate.url,
      assistant: 'agent',
      inputs,
      repetitions: 1,
      warmUp: 0,
      concurrency: 1,
      seed: 7,
      ...keys,
    },
  );
  const report = output.events.find(({ event }) => event === 'judged')!['report'] as JudgeReport;
  return { baseline: baseline.requests, candidate: candidate.requests, report };
}
