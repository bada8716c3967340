import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { stringify } from 'yaml';

import { packSource } from '../../../src/artifact/pack.ts';
import { sourceFiles } from '../../../src/artifact/sourceFiles.ts';
import { releaseRequest } from '../../../src/cli/commands/release/releaseRequest.ts';
import { beforeReading } from '../../../src/config/datasetSchema.ts';
import { loadConfig, type LoadedConfig } from '../../../src/config/loadConfig.ts';
import { releaseSettings } from '../../../src/config/releaseSettings.ts';
import type { Artifact } from '../../../src/domain/artifact/artifact.ts';
import { SlipwayError } from '../../../src/domain/errors.ts';
import type { ReleaseRequest, ReleaseResult } from '../../../src/domain/release/release.ts';
import { targetWorkflowId } from '../../../src/domain/target/targetSpec.ts';
import { workflowResult } from '../../../src/domain/workflowResult.ts';
import { connectTemporal, type TemporalConnection } from '../../../src/temporal/client/connection.ts';
import { submitRelease } from '../../../src/temporal/client/target/targetClient.ts';
import { temporalSettings } from '../../../src/temporal/client/temporalSettings.ts';
import { fetchHistories } from '../../../src/temporal/history/fetchHistories.ts';
import { startRealPostgres } from '../../support/realPostgres.ts';
import { replayFailures } from '../../workflows/harness.ts';
import { Observer } from '../observer.ts';
import { slipway } from '../processes.ts';
import { GREETS } from '../project.ts';
import { writeSmallAgent } from '../smallAgent.ts';
import { Stack } from '../stack.ts';
import { storeOf } from '../storedArtifacts.ts';
import { Disturbances } from './disturbances.ts';

/** How much is released, and how often something is disturbed. */
export interface StressOptions {
  readonly targets: number;
  /** Releases per target, one after the other. */
  readonly releases: number;
  /** The mean time between two disturbances. A new worker needs some seconds to start, and as long to work. */
  readonly everyMs: number;
  readonly onProgress: (line: string) => void;
}

/** The result. */
export interface StressReport {
  readonly outcomes: Readonly<Record<string, number>>;
  readonly kills: number;
  readonly disturbances: Readonly<Record<string, number>>;
  /** Revisions of one upload beyond its first, except those that a restore made. */
  readonly duplicates: number;
  readonly histories: number;
  readonly seconds: number;
  readonly problems: readonly string[];
}

/** A slow release is no failure. The run fails only if no release ends for this long. */
const STANDSTILL_MS = 1_200_000;
const SUBMIT_AGAIN_MS = 1_000;

/** No limit is reached by slowness alone: fifty agents start at once. */
const STEPS = Object.fromEntries(
  ['find', 'create', 'baseline', 'upload', 'patch', 'deployed', 'serving', 'check', 'redeploy', 'record'].map(
    (step) => [step, { scheduleToClose: '40m', retry: { maximumInterval: '5s' } }],
  ),
);

/** Each agent keeps some connections. */
const CONNECTIONS = 1_000;

/** Releases on many targets at once with real services and three workers, while {@link Disturbances} happen. */
export async function runStress(options: StressOptions): Promise<StressReport> {
  const startedAt = Date.now();
  const postgres = await startRealPostgres({ connections: CONNECTIONS });
  let stack: Stack | undefined;
  let temporal: TemporalConnection | undefined;
  let disturbances: Disturbances | undefined;
  try {
    stack = await Stack.start(
      { DATABASE_URL: postgres.url, SLIPWAY_READY_TIMEOUT_MS: '600000', SLIPWAY_ISOLATION: 'process' },
      { worker: false, env: { SLIPWAY_WORKER_VERSIONING: '1' } },
    );
    temporal = await connectTemporal(await temporalSettings('', stack.env));
    const run: Run = {
      ...{ options, stack, temporal, results: [], lastEndedAt: Date.now() },
      config: await writeConfig(stack, options.targets),
      artifacts: await makeArtifacts(stack, options.releases),
    };
    const ended = (): number => run.results.length / (options.targets * options.releases);
    const { onProgress } = options;
    disturbances = await Disturbances.start({ stack, postgres, temporal, progress: ended, onProgress });
    let over = false;
    const names = Object.keys(run.config.config.targets);
    const [problems] = await Promise.all([
      Promise.all(names.map((name) => releaseOn(run, name))).finally(() => (over = true)),
      disturbances.go(options.everyMs, () => over),
    ]);
    onProgress('every release has ended: looking at what is left');
    const left = await inspect(run);
    return {
      outcomes: tally(run.results),
      kills: disturbances.kills,
      disturbances: disturbances.counts,
      duplicates: left.duplicates,
      histories: left.histories,
      seconds: Math.round((Date.now() - startedAt) / 1_000),
      problems: [
        ...problems.flat(),
        ...left.problems,
        ...disturbances.left.map((what) => `did not happen: ${what}`),
      ],
    };
  } finally {
    await disturbances?.stop();
    await temporal?.close();
    await stack?.stop();
    await postgres.close();
  }
}

interface Run {
  readonly options: StressOptions;
  readonly stack: Stack;
  readonly temporal: TemporalConnection;
  readonly config: LoadedConfig;
  /** One for each release of a target. */
  readonly artifacts: readonly Artifact[];
  readonly results: ReleaseResult[];
  lastEndedAt: number;
}

async function writeConfig(stack: Stack, targets: number): Promise<LoadedConfig> {
  const names = Array.from({ length: targets }, (_, index) => `stress-${index}`);
  const target = (deployment: string): object => ({
    ...{ controlPlane: stack.controlPlane, deployment },
    apiKey: { from: 'env:SLIPWAY_API_KEY' },
  });
  const file = join(stack.folder, 'slipway.yaml');
  const content = {
    targets: Object.fromEntries(names.map((name) => [name, target(name)])),
    checks: [{ ...GREETS, timeout: '2m' }],
    steps: STEPS,
  };
  await writeFile(file, stringify(content));
  return loadConfig(file);
}

async function makeArtifacts(stack: Stack, count: number): Promise<readonly Artifact[]> {
  const artifacts: Artifact[] = [];
  for (let number = 1; number <= count; number++) {
    const root = join(stack.folder, `source-${number}`);
    await mkdir(root);
    await writeSmallAgent(root, { says: `Hello Ada! This is version ${number}.` });
    const packed = await packSource({ root, entries: await sourceFiles(root, []) });
    const { digest, sizeBytes } = packed;
    const store = storeOf(stack);
    await store.put(packed.file, digest);
    await packed.remove();
    artifacts.push({ kind: 'tarball', digest, sizeBytes, store: store.url });
  }
  return artifacts;
}

/** Releases one artifact after the other on one target. @returns the problems. */
async function releaseOn(run: Run, name: string): Promise<readonly string[]> {
  const { config, file } = run.config;
  const declared = releaseSettings(config, name);
  const settings = { ...declared, checks: beforeReading(declared.checks) };
  const problems: string[] = [];
  for (const [index, artifact] of run.artifacts.entries()) {
    const request = releaseRequest(settings, {
      ...{ target: { ...settings.target, deployment: name }, artifact },
      recordStore: storeOf(run.stack).url,
      requestedBy: { who: 'stress', from: file },
    });
    const subject = `${name}, artifact ${index + 1}`;
    const result = await releaseOnce(run, request);
    if (typeof result === 'string') {
      problems.push(`${subject}: ${result}`);
      continue;
    }
    run.results.push(result);
    run.lastEndedAt = Date.now();
    if (run.results.length % 25 === 0) run.options.onProgress(`${run.results.length} releases have ended`);
    if (result.outcome === 'released') continue;
    const line = `${subject}: ${result.releaseId} ended ${result.outcome}: ${result.reason}`;
    run.options.onProgress(line);
    if (result.outcome === 'errored' || result.outcome === 'rollback_failed') problems.push(line);
  }
  return problems;
}

/**
 * Submits a release until it is accepted, and waits for its end.
 * @returns its result, or why there is none.
 */
async function releaseOnce(run: Run, request: ReleaseRequest): Promise<ReleaseResult | string> {
  const { temporal } = run;
  const target = targetWorkflowId(request.target);
  let releaseId: string | undefined;
  let why = 'it was never taken';
  while (Date.now() - run.lastEndedAt < STANDSTILL_MS) {
    try {
      releaseId ??= (await submitRelease(temporal, request)).releaseId;
      return await workflowResult(temporal.client.workflow.getHandle(`${target}/${releaseId}`));
    } catch (error) {
      if (error instanceof SlipwayError && error.code === 'SLIPWAY_WORKFLOW_STUCK') return String(error);
      why = `${String(error)} ${error instanceof Error ? String(error.cause) : ''}`;
      await sleep(SUBMIT_AGAIN_MS);
    }
  }
  return `nothing has ended for ${STANDSTILL_MS / 60_000} min; ${releaseId ?? 'it was not submitted'}: ${why}`;
}

/** Looks at the control plane, the audit and the histories. */
async function inspect({
  config,
  stack,
  temporal,
  results,
}: Run): Promise<{ duplicates: number; histories: number; problems: readonly string[] }> {
  const problems: string[] = [];
  let duplicates = 0;
  let histories = 0;
  for (const deployment of Object.keys(config.config.targets)) {
    const seen = new Observer(stack, deployment);
    const { id, active_revision_id: active } = await seen.deployment();
    const shipped = await seen.shippedRevisions();
    const uploads = new Set(shipped.map(({ source_revision_config: made }) => made.source_tarball_path));
    const redeploys = stack.proxy.log.filter(
      ({ method, path, passages }) =>
        method === 'POST' && path.includes(id) && path.endsWith('/redeploy') && passages.length > 0,
    );
    duplicates += Math.max(0, shipped.length - uploads.size - redeploys.length);
    const workflowId = targetWorkflowId({ controlPlane: stack.controlPlane, deployment });
    const last = results.findLast(
      ({ outcome, revisionId }) => outcome === 'released' && shipped.some((one) => one.id === revisionId),
    );
    if (active !== last?.revisionId) problems.push(`${deployment}: ${String(active)} serves`);
    const found = await fetchHistories(temporal, workflowId);
    histories += found.length;
    problems.push(...(await replayFailures(BUNDLE, found)));
  }
  if (duplicates > 0) problems.push(`${duplicates} duplicate revisions`);
  const command = slipway(['audit', '--json'], { env: stack.env, cwd: stack.folder });
  const code = await command.exited;
  const audited = command.lines.filter(({ event }) => event === 'audited');
  const violations = command.lines.filter(({ event }) => event === 'violation');
  problems.push(...violations.map((line) => JSON.stringify(line)));
  if (code !== 0) problems.push(`slipway audit ended with ${String(code)}: ${command.stderr}`);
  const targets = Object.keys(config.config.targets).length;
  if (audited.length !== targets)
    problems.push(`slipway audit looked at ${audited.length} of ${targets} targets`);
  return { duplicates, histories, problems };
}

const BUNDLE = fileURLToPath(new URL('../../../dist/workflow-bundle.cjs', import.meta.url));

function tally(results: readonly ReleaseResult[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { outcome } of results) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}
