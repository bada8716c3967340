import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, describe, expect, it, vi } from 'vitest';

import { artifactPath } from '../../../src/artifact/artifactStore.ts';
import { folderStore } from '../../../src/artifact/folderStore.ts';
import { runLintCommand } from '../../../src/cli/commands/lint/lint.ts';
import type { CommandContext } from '../../../src/cli/context.ts';
import { closedPort, startService } from '../../clients/faultyService.ts';
import { testOutput } from '../testOutput.ts';
import { useFolders } from '../../support/temporaryFolder.ts';

const ROW = '{"input":{},"reference":"10:30"}';
const YAML = `targets:
  a: { controlPlane: 'http://localhost:1', apiKey: { from: env:KEY }, deployment: greeter }
`;

const folder = useFolders();
let file: string;
beforeEach(async () => {
  file = join(folder(), 'slipway.yaml');
  await mkdir(join(folder(), 'evals'));
});

/** Lints a file with one check over a dataset. `rest`: below it. */
async function lint(
  dataset: string,
  { check = '', rest = '' } = {},
  options: { readonly strict?: boolean; readonly environment?: Record<string, string> } = {},
) {
  const { environment = {}, strict = false } = options;
  const checks = `checks:\n  - name: trains\n    assistant: agent\n    dataset: ${dataset}\n    ${check}\n`;
  await writeFile(file, `${YAML}${checks}${rest}`);
  const [output, events] = [testOutput(), testOutput({ json: true })];
  const context: CommandContext = { output, home: join(folder(), '.slipway'), environment };
  const exitCode = await runLintCommand(context, file, { strict });
  await runLintCommand({ ...context, output: events }, file, { strict });
  const problems = events.events.filter(({ event }) => event === 'problem');
  return { exitCode, said: output.said, noted: output.noted, problems };
}

function rows(...lines: readonly string[]): Promise<void> {
  return writeFile(join(folder(), 'evals/trains.jsonl'), lines.join('\n'));
}

function digestOf(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

/** Puts a dataset into a store, below the folder. @returns its digest. */
async function stored(name: string, ...lines: readonly string[]): Promise<string> {
  const text = lines.join('\n');
  await rows(text);
  await folderStore(join(folder(), name)).put(join(folder(), 'evals/trains.jsonl'), digestOf(text));
  return digestOf(text);
}

describe('slipway lint', () => {
  it('reads the datasets of checks', async () => {
    await rows(ROW, ROW, '');
    const { exitCode, said } = await lint('{ path: evals/trains.jsonl }', {
      check: 'expect: { reference: contains }',
    });
    expect(said).toEqual([`✔ ${file}: no errors, no warnings`]);
    expect(exitCode).toBe(0);
  });

  it('names every wrong row with its file and line', async () => {
    await rows(ROW, '{"input":', '{"inputs":{}}', '{"input":{}}');
    const { exitCode, said, problems } = await lint('{ path: evals/trains.jsonl }', {
      check: 'expect: { reference: contains }',
    });
    const dataset = join(folder(), 'evals/trains.jsonl');
    expect(said).toEqual([
      `${dataset}:2:1 error the line is not JSON in UTF-8, or nested deeper than 100 levels (SLIPWAY_DATASET_INVALID)`,
      '  2 | {"input":',
      '    | ^',
      `${dataset}:3:1 error input: is missing: expected an object; inputs: unknown field "inputs"; did you mean "input"? (SLIPWAY_DATASET_INVALID)`,
      '  3 | {"inputs":{}}',
      '    | ^',
      `${dataset}:4:1 error the answer is compared with the row’s reference, and it has none: add "reference" (SLIPWAY_DATASET_INVALID)`,
      '  4 | {"input":{}}',
      '    | ^',
      `✖ ${file}: 3 errors, no warnings`,
    ]);
    expect(problems[0]).toMatchObject({
      ...{ code: 'SLIPWAY_DATASET_INVALID', severity: 'error', file: dataset, line: 2 },
    });
    expect(exitCode).toBe(1);
  });

  it('shows 20 wrong rows, and counts the others', async () => {
    await rows(...Array.from({ length: 23 }, () => '[]'));
    const { problems } = await lint('{ path: evals/trains.jsonl }');
    expect(problems).toHaveLength(21);
    expect(problems.at(-1)).toMatchObject({ path: 'checks.0.dataset', message: '3 more lines are wrong' });
  });

  it('refuses rows that are too few to show the pass rate, also after sampling', async () => {
    await rows(...Array.from({ length: 58 }, () => ROW));
    for (const dataset of ['{ path: evals/trains.jsonl }', '{ path: evals/trains.jsonl, sample: 200 }']) {
      const { exitCode, problems } = await lint(dataset, { check: 'passRate: 95%' });
      expect(problems).toMatchObject([
        {
          ...{ code: 'SLIPWAY_DATASET_INVALID', file, line: 6, path: 'checks.0.dataset' },
          message: expect.stringContaining('even if all 58 rows pass, that does not show 95 %') as string,
        },
      ]);
      expect(exitCode).toBe(1);
    }
    expect(await lint('{ path: evals/trains.jsonl }', { check: 'passRate: 94%' })).toMatchObject({
      exitCode: 0,
    });
  });

  it.each<[string, string, string, object, string]>([
    ['without rows', '{ path: evals/empty.jsonl }', '', { line: 6 }, 'it has no rows'],
    ['that is no file', '{ path: evals/planes.jsonl }', '', { line: 6 }, 'ENOENT'],
    [
      'for whose rows a budget has no room',
      ...(['{ path: evals/trains.jsonl }', 'checksBudget: { runs: 2 }\n'] as const),
      { path: 'checksBudget.runs', line: 8 },
      'the checks take at least 3 runs',
    ],
    [
      'that does not have the digest beside it',
      `{ path: evals/trains.jsonl, digest: '${digestOf('something else')}' }`,
      '',
      { code: 'SLIPWAY_DATASET_CHANGED', line: 6 },
      digestOf([ROW, ROW, ROW].join('\n')),
    ],
  ])('refuses a dataset %s', async (_what, dataset, rest, problem, words) => {
    await rows(ROW, ROW, ROW);
    await writeFile(join(folder(), 'evals/empty.jsonl'), '\n');
    const { problems } = await lint(dataset, { rest });
    expect(problems).toMatchObject([{ file, ...problem }]);
    expect(problems[0]?.['message']).toContain(words);
  });

  it('reads a dataset that is named by its digest from the artifact store', async () => {
    const rest = 'artifact: { store: store }\n';
    const digest = await stored('store', ROW, '{}');
    const { problems } = await lint(`{ digest: '${digest}' }`, { rest });
    expect(problems).toMatchObject([{ code: 'SLIPWAY_DATASET_INVALID', file, line: 6 }]);
    expect(problems[0]?.['message']).toContain('line 2: input: is missing');
    await writeFile(join(folder(), 'store', artifactPath(digest)), `${ROW}\n`);
    expect((await lint(`{ digest: '${digest}' }`, { rest })).problems).toMatchObject([
      { code: 'SLIPWAY_ARTIFACT_CORRUPT', severity: 'error' },
    ]);
  });

  it('refuses a digest that the artifact store does not have, and warns if nobody chose the store', async () => {
    const dataset = `{ digest: '${digestOf('unknown')}' }`;
    const missing = { code: 'SLIPWAY_ARTIFACT_NOT_FOUND', file, line: 6 };
    const chosen = await lint(
      dataset,
      {},
      { environment: { SLIPWAY_ARTIFACT_STORE: join(folder(), 'store') } },
    );
    expect(chosen).toMatchObject({ exitCode: 1, problems: [{ ...missing, severity: 'error' }] });
    const own = await lint(dataset, {}, { strict: true });
    expect(own).toMatchObject({ exitCode: 0, problems: [{ ...missing, severity: 'warning' }] });
  });

  it('warns, also with --strict, if the artifact store is out of reach', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'key').stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    const store = `s3://bucket?endpoint=${await closedPort()}&region=eu-west-1`;
    const options = { strict: true, environment: { SLIPWAY_ARTIFACT_STORE: store } };
    const { exitCode, problems } = await lint(`{ digest: '${digestOf('rows')}' }`, {}, options);
    vi.unstubAllEnvs();
    expect(problems).toMatchObject([{ code: 'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE', severity: 'warning' }]);
    expect(exitCode).toBe(0);
  });

  it('fetches no URL and says so, but reads what the artifact store has of its digest', async () => {
    const service = await startService((_, response) => void response.end(ROW));
    const { exitCode, noted } = await lint(`{ url: '${service.url}/trains' }`);
    expect(exitCode).toBe(0);
    expect(noted[0]).toBe(
      'The dataset of check "trains" was not read: only its URL has it. "slipway plan" fetches it.',
    );
    const digest = await stored('.slipway/artifacts', '{}');
    const { problems } = await lint(`{ url: '${service.url}/trains', digest: '${digest}' }`);
    expect(problems[0]?.['message']).toContain('line 1: input: is missing');
    expect(service.requests).toEqual([]);
  });
});
