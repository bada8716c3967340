import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeAll, describe, expect, it } from 'vitest';

import { openArtifactStore } from '../../../../src/artifact/openArtifactStore.ts';
import { recordedReleases } from '../../../../src/cli/commands/artifact/prune.ts';
import { type JudgeOptions, runJudgeCommand } from '../../../../src/cli/commands/judge/judge.ts';
import type { JudgeReport } from '../../../../src/domain/judge/report.ts';
import type { SeenRequest } from '../../../clients/faultyService.ts';
import { startFakeAgent } from '../../../judge/fakeAgent.ts';
import { metricOf } from '../../../judge/metricOf.ts';
import { temporaryFolder, useFolder } from '../../../support/temporaryFolder.ts';
import { testOutput } from '../../testOutput.ts';

const NO_LISTENER = 'http://127.0.0.1:9';
const NAMES = ['Ada', 'Bob', 'Cleo', 'Dana', 'Emil', 'Fay'];
const folder = useFolder();

beforeAll(async () => {
  const lines = NAMES.map((name) =>
    JSON.stringify({ input: { name }, expect: { contains: `Hello, ${name}!` } }),
  );
  await writeFile(join(folder, 'inputs.jsonl'), lines.join('\n'));
});

const startGreeter = () =>
  startFakeAgent({ answers: ({ name }) => `Hello, ${String(name)}!`, takesMs: () => 20 });
const startWrong = () => startFakeAgent({ answers: () => 'Hello, stranger!' });

/** Judges with few runs. Latencies depend on the machine here, so they decide nothing. */
async function judge(
  baseline: string,
  candidate: string,
  options: Partial<JudgeOptions> = {},
  {
    home = join(folder, 'home'),
    environment = {},
  }: { readonly home?: string; readonly environment?: Readonly<Record<string, string>> } = {},
) {
  const output = testOutput({ json: true });
  const exitCode = await runJudgeCommand(
    { output, home, environment },
    {
      baseline,
      candidate,
      assistant: 'agent',
      inputs: join(folder, 'inputs.jsonl'),
      repetitions: 4,
      warmUp: 1,
      concurrency: 6,
      seed: 7,
      metric: ['success=20%', 'expectations=20%'],
      ...options,
    },
  );
  const report = output.events.find(({ event }) => event === 'judged')!['report'] as JudgeReport;
  expect(output.events.at(-1)).toEqual({ event: 'ended', exitCode });
  return { exitCode, report, events: output.events };
}

describe('slipway judge', () => {
  it('reports before the first run that its home cannot be written', async () => {
    const agent = await startGreeter();
    const home = join(folder, 'inputs.jsonl', 'home');
    await expect(judge(agent.url, agent.url, {}, { home })).rejects.toMatchObject({ code: 'SLIPWAY_USAGE' });
    expect(agent.runs()).toBe(0);
  });

  it('reports before the first run that the report cannot be written', async () => {
    const agent = await startGreeter();
    const markdown = join(folder, 'nowhere', 'judge.md');
    await expect(judge(agent.url, agent.url, { markdown })).rejects.toMatchObject({
      code: 'SLIPWAY_USAGE',
      hint: 'name another file with --markdown',
    });
    expect(agent.runs()).toBe(0);
  });

  it('passes an agent that is compared with itself, and exits 0', async () => {
    const { url } = await startGreeter();
    const { exitCode, report } = await judge(url, url, { feedbackKey: 'judge' });
    expect(report.reasons.join('\n')).not.toMatch(/may be|needed/);
    expect(exitCode).toBe(0);
    expect(report.sides.candidate).toMatchObject({ runs: 24, ended: { success: 24 } });
    expect(report.sides.candidate.feedback).toEqual({ recorded: 24, lost: 0 });
    const first = metricOf(report, 'firstToken')!.comparison;
    const whole = metricOf(report, 'latency')!.comparison;
    if (first.kind !== 'distribution' || whole.kind !== 'distribution') throw new Error('not numbers');
    expect(first.baseline!.mean).toBeLessThan(whole.baseline!.mean);
  });

  it('fails an agent with wrong answers, exits 2, and keeps the report', async () => {
    const markdown = join(folder, 'judge.md');
    const [good, wrong] = await Promise.all([startGreeter(), startWrong()]);
    const { exitCode, report } = await judge(good.url, wrong.url, { markdown });
    expect(exitCode).toBe(2);
    expect(metricOf(report, 'expectations')!.verdict).toBe('failed');
    expect(metricOf(report, 'success')!.verdict).not.toBe('failed');
    expect(report.sides.candidate.failures[0]!.reason).toContain('stranger');
    expect(await readFile(markdown, 'utf8')).toContain('Judge: failed');
    const store = openArtifactStore(join(folder, 'home', 'artifacts'));
    const kept = await store.listRecords('judgements/');
    expect(await store.getRecord(kept.at(-1)!)).toEqual(report);
    // `slipway prune` reads every record of a release, and stops at one that it cannot read.
    expect(await recordedReleases(store)).toEqual([]);
  });

  it('is inconclusive, and exits 4, if there are too few runs', async () => {
    const { url } = await startGreeter();
    const { exitCode } = await judge(url, url, { repetitions: 1 });
    expect(exitCode).toBe(4);
  });

  it('is errored, and exits 3, if the candidate is away', async () => {
    const { url } = await startGreeter();
    const { exitCode, report } = await judge(url, NO_LISTENER, { patience: '100ms' });
    expect(exitCode).toBe(3);
    expect(report.error).toMatchObject({ side: 'candidate' });
  });

  it.each([
    [{ inputs: '/nowhere/inputs.jsonl' }, 'SLIPWAY_JUDGE_INPUTS_INVALID'],
    [{ inputs: '.' }, 'SLIPWAY_JUDGE_INPUTS_INVALID'],
    [{ metric: ['speed=3'] }, 'SLIPWAY_USAGE'],
    [{ confidence: 0.3 }, 'SLIPWAY_USAGE'],
    [{ apiKey: 'the-key-itself' }, 'SLIPWAY_USAGE'],
    [{ evaluator: NO_LISTENER, evaluatorSecret: 'env:UNSET' }, 'SLIPWAY_SECRET_MISSING'],
  ])('rejects %j before it runs anything', async (options, code) => {
    await expect(judge(NO_LISTENER, NO_LISTENER, options)).rejects.toMatchObject({ code });
  });
});

it('slipway judge neither prints nor keeps a key that an agent repeats', async () => {
  const home = await temporaryFolder();
  const markdown = join(home, 'judge.md');
  const key = 'sk-very-secret';
  const { url } = await startFakeAgent({ answers: () => `I run with ${key}` });
  const keys = { apiKey: 'env:SLIPWAY_API_KEY' };
  const where = { home, environment: { SLIPWAY_API_KEY: key } };
  const { events } = await judge(url, url, { ...keys, markdown }, where);
  const store = openArtifactStore(join(home, 'artifacts'));
  const [kept = ''] = await store.listRecords('judgements/');
  const texts = [JSON.stringify(events), await readFile(markdown, 'utf8')];
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
async function judged(keys: Pick<JudgeOptions, 'apiKey' | 'candidateApiKey'>, status?: number) {
  const start = () =>
    startFakeAgent({
      instead: (_, response) => status !== undefined && Boolean(response.writeHead(status).end('{}')),
    });
  const [baseline, candidate] = [await start(), await start()];
  const environment = { SLIPWAY_API_KEY: 'control-plane-key', AGENTS_KEY: 'agents-key' };
  const options = { repetitions: 1, warmUp: 0, ...keys };
  const { report } = await judge(baseline.url, candidate.url, options, { environment });
  return { baseline: baseline.requests, candidate: candidate.requests, report };
}
