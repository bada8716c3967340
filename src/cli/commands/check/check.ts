import { randomUUID } from 'node:crypto';

import { pick } from '@slipway/contract/pick';
import pLimit from 'p-limit';

import type { Answered, CheckedAgent } from '../../../check/askAgent.ts';
import { carryOut, NOTHING_MADE } from '../../../check/carryOut.ts';
import { chosenRows, datasetRows } from '../../../check/datasetRows.ts';
import type { Evaluating } from '../../../check/evaluate.ts';
import { removeSecretsFromTexts } from '../../../clients/removeSecrets.ts';
import { createRunApiClient } from '../../../clients/runApi.ts';
import { createAgent } from '../../../clients/service.ts';
import { loadConfig } from '../../../config/loadConfig.ts';
import { knownSecrets } from '../../../config/secretReference.ts';
import { budgetLeft, type ChecksBudget, type Spent } from '../../../domain/check/budget.ts';
import type { Check } from '../../../domain/check/check.ts';
import { hasMaxLatency } from '../../../domain/check/expectation.ts';
import { type Dataset, NO_ROWS, type ShownRun } from '../../../domain/check/dataset.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { CommandContext, FileOptions } from '../../context.ts';
import { type DatasetSource, type ReadDatasets, readDatasets } from '../../datasets/readDatasets.ts';
import type { CheckResult } from '../../events/checks.ts';
import { interruptible } from '../../interruption.ts';
import { writeReport } from '../../namedFile.ts';
import { retryBusy } from '../../retryBusy.ts';
import { LiveLines } from '../../ui/liveLines.ts';
import { type AgentAddress, agentOf } from './checkedAddress.ts';
import { junitReport, reportChecksInCi, resultLines } from './checkReports.ts';

export interface CheckOptions extends FileOptions {
  /** A reference: `env:NAME`, `file:/path`. Only for an agent at a URL. */
  readonly apiKey?: string;
  readonly concurrency: number;
  readonly junit?: string;
}

/** The exit code if a check failed: that of a release whose check failed. */
const FAILED = 2;

/**
 * `slipway check [TARGET|URL]`: runs the checks of `slipway.yaml` on an agent, without releasing. Needs no Temporal; for a
 * URL no control plane either. Records no feedback.
 * @returns the exit code: 0 all passed, 2 one failed, else that of the first error.
 */
export async function runCheckCommand(
  context: CommandContext,
  wanted: string | undefined,
  options: CheckOptions,
): Promise<number> {
  const { output } = context;
  const { config, file, folder } = await loadConfig(options.config);
  if (config.checks.length === 0) {
    const hint = 'add some below "checks"; docs/checks.md shows how';
    throw new SlipwayError('SLIPWAY_USAGE', 'slipway.yaml has no checks', { place: file, hint });
  }
  return interruptible(async (signal) => {
    const { checks, sources } = await readDatasets(context, { config, folder }, config, signal);
    const address = await agentOf(context, { config, folder }, wanted, options.apiKey);
    // Before the runs, which take long and cost money.
    if (options.junit !== undefined) await writeReport('--junit', options.junit, '', 'a');
    const began = performance.now();
    const asked = { checks, sources, budget: config.checksBudget, concurrency: options.concurrency };
    const ofFile = knownSecrets(config, context.environment);
    const results = await resultsOf(context, address, asked, ofFile, signal);
    if (options.junit !== undefined) {
      const report = junitReport(address.baseUrl, results, performance.now() - began);
      await writeReport('--junit', options.junit, report);
    }
    const exitCode = exitCodeOf(results);
    output.event({ event: 'ended', exitCode });
    await reportChecksInCi(context, address.baseUrl, results, exitCode);
    return exitCode;
  });
}

interface AskedChecks extends Pick<ReadDatasets, 'checks' | 'sources'> {
  readonly budget: ChecksBudget | undefined;
  readonly concurrency: number;
}

/** Asks an agent all checks, and prints each result when it is known. @returns the results, in the order of the file. */
async function resultsOf(
  { output, environment }: CommandContext,
  address: AgentAddress,
  { checks, sources, budget, concurrency }: AskedChecks,
  ofFile: readonly string[],
  signal: AbortSignal,
): Promise<readonly CheckResult[]> {
  const mostAtOnce = Math.max(concurrency, ...checks.map(({ dataset }) => dataset?.concurrency ?? 1));
  const agent = createRunApiClient({ ...address, connections: mostAtOnce + 1 });
  const pool = createAgent();
  // An agent may answer with the secrets of its deployment.
  const secrets = [...ofFile, ...(address.apiKey === undefined ? [] : [address.apiKey])];
  const live = new LiveLines(output);
  const results: CheckResult[] = [];
  let rows = '';
  live.show(() => [`${results.length} of ${checks.length} checks of ${address.baseUrl} are decided${rows}`]);
  const asking: Asking = {
    output,
    agent,
    sources,
    evaluating: { pool, environment },
    signal,
    onRows: (text) => (rows = text === '' ? '' : `; ${text}`),
    onLeft: (id) => output.note(`the thread ${id} of a check could not be removed from the agent`),
  };
  try {
    await askAll(asking, checks, budget, concurrency, (answered) => {
      const result = removeSecretsFromTexts(answered, secrets);
      results.push(result);
      output.event({ event: 'checked', ...result });
      for (const line of resultLines(result, output.style)) live.say(line);
    });
  } finally {
    live.hide();
    await Promise.all([agent.close(), pool.close()]);
  }
  return checks.flatMap(({ name }) => results.filter(({ check }) => check === name));
}

interface Asking extends Pick<CommandContext, 'output'> {
  readonly agent: CheckedAgent;
  /** Where the rows of each check come from, by its name. */
  readonly sources: ReadDatasets['sources'];
  readonly evaluating: Evaluating;
  readonly signal: AbortSignal;
  readonly onRows: (text: string) => void;
  readonly onLeft: (threadId: string) => void;
}

/**
 * Asks several checks at once, then those with a `maxLatency` or a dataset, one by one. With a budget, all are asked
 * one by one, because it is spent in the order of the file.
 */
async function askAll(
  asking: Asking,
  checks: readonly Check[],
  budget: ChecksBudget | undefined,
  concurrency: number,
  onResult: (result: CheckResult) => void,
): Promise<void> {
  let left = budget;
  const ask = async (check: Check): Promise<void> => {
    let spent: Spent | undefined;
    const result = await askOne(asking, check, left, (now) => (spent = now));
    if (left !== undefined && spent !== undefined) left = budgetLeft(left, spent);
    onResult(result);
  };
  const isAlone = (check: Check): boolean =>
    budget !== undefined ||
    check.dataset !== undefined ||
    (check.turns ?? [check]).some(({ expect }) => hasMaxLatency(expect));
  const limit = pLimit(concurrency);
  await Promise.all(checks.filter((check) => !isAlone(check)).map((check) => limit(() => ask(check))));
  for (const check of checks.filter(isAlone)) await ask(check);
}

/** @param onSpent - called with what the check has used, also if it was not decided. */
async function askOne(
  asking: Asking,
  { feedbackKey: _unused, ...check }: Check,
  budget: ChecksBudget | undefined,
  onSpent: (spent: Spent) => void,
): Promise<CheckResult> {
  const { agent, sources, evaluating, signal, onLeft } = asking;
  const { dataset } = check;
  const source = sources.get(check.name);
  try {
    if (dataset !== undefined && source !== undefined)
      return await askRows(asking, check, { dataset, source }, budget, onSpent);
    let begun = NOTHING_MADE;
    const goOn = () =>
      carryOut({
        agent,
        check,
        budget,
        evaluating,
        signal,
        begun,
        thread: () => ({ id: randomUUID(), onLeft }),
        onAnswered: shownRun,
        onProgress: (progress) => (begun = progress),
        onSpent,
      });
    const carried = await retryBusy(asking, goOn, signal);
    const seen = pick(carried, 'passed', 'reasons', 'answer', 'runId', 'latencyMs', 'repetitions', 'scores');
    return { check: check.name, ...seen, error: null };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SlipwayError)) throw error;
    const { code, message, hint } = error;
    const why = hint === undefined ? message : `${message}; ${hint}`;
    const nothing = { passed: false, reasons: [], answer: '', runId: null, latencyMs: 0 };
    return { check: check.name, ...nothing, error: { code, message: why } };
  }
}

function exitCodeOf(results: readonly CheckResult[]): number {
  if (results.some(({ passed, error }) => !passed && error === null)) return FAILED;
  const error = results.find((result) => result.error !== null)?.error;
  return error == null ? 0 : new SlipwayError(error.code, error.message).exitCode;
}

const FAILED_ROWS_MAX = 100;

/** What a result shows of an answer, without an artifact store or a trace to record it in. */
function shownRun({ judgement, seen: { runId, run } }: Answered): Promise<ShownRun> {
  const judged = pick(judgement, 'passed', 'reasons', 'answer');
  return Promise.resolve({ ...judged, runId, latencyMs: run.latencyMs, feedbackRecorded: null });
}

async function askRows(
  { agent, evaluating, signal, onRows }: Asking,
  check: Check,
  { dataset, source }: { readonly dataset: Dataset; readonly source: DatasetSource },
  budget: ChecksBudget | undefined,
  onSpent: (spent: Spent) => void,
): Promise<CheckResult> {
  const { askDataset } = await import('../../../check/askDataset.ts');
  const all = datasetRows(await source.open(), source.name, check);
  const rows = await chosenRows(all, dataset.rows, dataset.seed);
  const asked = await askDataset({
    agent,
    check,
    dataset,
    rows,
    budget,
    evaluating,
    signal,
    begun: NO_ROWS,
    toTheEnd: true,
    onAnswered: shownRun,
    onSpent,
    onResult: (_, progress) => {
      onRows(`${check.name}: ${progress.rows.length} of ${rows.length} rows`);
      return Promise.resolve();
    },
  }).finally(() => onRows(''));
  const failed = asked.rows.filter((row) => !row.passed).slice(0, FAILED_ROWS_MAX);
  return {
    check: check.name,
    ...pick(asked.verdict, 'passed', 'reasons', 'answer', 'runId', 'latencyMs', 'dataset'),
    failedRows: failed.map((row) => pick(row, 'id', 'line', 'reasons', 'answer', 'runId')),
    error: null,
  };
}
