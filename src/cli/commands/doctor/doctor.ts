import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { errorText, isCodedError } from '@slipway/contract/codedError';

import { loadConfig, type LoadedConfig } from '../../../config/loadConfig.ts';
import { releaseSettings } from '../../../config/releaseSettings.ts';
import { readSecretOrigins } from '../../../config/secretOrigins.ts';
import { originOf, originProblem, originText } from '../../../domain/target/origin.ts';
import type { TargetSpec } from '../../../domain/target/targetSpec.ts';
import { findDeployment, withControlPlane } from '../../../inspection/deployment/deploymentAccess.ts';
import { connectTemporal, type TemporalConnection } from '../../../temporal/client/connection.ts';
import { findOldKeys } from '../../../temporal/client/oldPayloadKeys.ts';
import {
  registerSearchAttributes,
  requireSearchAttributes,
} from '../../../temporal/client/searchAttributes.ts';
import { findStuckTasks, remedyOf, stuckText, terminateStuck } from '../../../temporal/client/stuckTask.ts';
import { temporalSettings } from '../../../temporal/client/temporalSettings.ts';
import { requireEachVersion } from '../../../temporal/client/workerPresence.ts';
import { requireWholeBundle } from '../../../temporal/versions/workerVersion.ts';
import { runningPinned } from '../../../temporal/versions/runningWork.ts';
import { findTemporal } from '../../../temporal/server/installation/installation.ts';
import { BUNDLE_PATH } from '../../../worker.ts';
import type { CommandContext, FileOptions } from '../../context.ts';
import type { Finding } from '../../events/checks.ts';
import { retryBusy } from '../../retryBusy.ts';
import { reportError } from '../../ui/errorReport.ts';
import { counted, MARKS, type Style } from '../../ui/text.ts';
import { artifactStoreOf } from '../artifact/artifactStoreOf.ts';
import { pythonAgentProblems } from '../lint/graphProblems.ts';
import { secretUses } from './secretUses.ts';

/**
 * `slipway doctor`: what is missing for a release on this machine, and the command that fixes it. `--fix` registers
 * what is missing in Temporal, and terminates workflows that no worker can continue.
 * @returns the exit code: 0; 1 if something must be fixed here; 3 if a workflow is stuck; 6 if something does not answer.
 */
export async function runDoctorCommand(
  context: CommandContext,
  options: FileOptions & { readonly fix?: boolean },
): Promise<number> {
  const { output } = context;
  const codes: number[] = [];
  for await (const finding of findings(context, { fix: options.fix ?? false, config: options.config })) {
    output.event({ event: 'finding', ...finding });
    for (const line of findingLines(finding, output.style)) output.print(line);
    if (finding.exitCode !== 0) codes.push(finding.exitCode);
  }
  const exitCode = codes.length === 0 ? 0 : Math.min(...codes);
  output.event({ event: 'ended', exitCode });
  return exitCode;
}

type Findings = AsyncGenerator<Finding, void>;

const NAME_WIDTH = 20;

export function findingLines({ name, state, detail, fix }: Finding, style: Style): readonly string[] {
  const mark = state === 'warning' ? style.warn(MARKS.warning) : style.mark(state === 'ok');
  const line = `${mark} ${name.padEnd(NAME_WIDTH)} ${detail}`;
  return fix === null ? [line] : [line, `  ${''.padEnd(NAME_WIDTH)} ${style.faint('→')} ${fix}`];
}

/**
 * Checks everything that a release needs, one thing after the other. A problem is a finding, never an error.
 * @param options.fix - register what is missing in Temporal, and terminate workflows that no worker can continue.
 */
async function* findings(
  context: CommandContext,
  options: { readonly fix: boolean; readonly config: string | undefined },
): Findings {
  yield ok('node', process.versions.node);
  yield await gitFinding();
  yield* orProblem('workflow code', bundleFinding());
  yield* orProblem('Temporal', temporalFindings(context, options.fix));
  yield* orProblem('slipway.yaml', configFindings(context, options.config));
}

async function* bundleFinding(): Findings {
  await requireWholeBundle(BUNDLE_PATH);
  yield ok('workflow code', 'as it was built');
}

async function gitFinding(): Promise<Finding> {
  try {
    const { stdout } = await promisify(execFile)('git', ['--version'], { timeout: 10_000 });
    return ok('git', stdout.trim().replace(/^git version /, ''));
  } catch (error) {
    return warning('git', errorText(error), 'install git: releases then record their commit');
  }
}

async function* temporalFindings({ home, environment }: CommandContext, fix: boolean): Findings {
  const settings = await temporalSettings(home, environment);
  const { address, namespace, origin, taskQueue } = settings;
  if (origin === 'default') {
    const command = await findTemporal(environment);
    yield command === undefined
      ? warning('temporal command', 'not found; "slipway dev" installs it', 'slipway temporal install')
      : ok('temporal command', `${command.path} (${command.origin})`);
  }
  const temporal = await connectTemporal(settings);
  try {
    yield ok('Temporal', `${address}, namespace "${namespace}"`);
    yield* orProblem('search attributes', searchAttributesFinding(temporal, fix));
    yield* orProblem('worker', workerFinding(temporal, taskQueue));
    yield* orProblem('workflows', stuckFindings(temporal, fix));
    const [first, ...others] = settings.codec?.keyIds ?? [];
    if (first !== undefined && others.length > 0)
      yield* orProblem('payload keys', keysFinding(temporal, first, fix));
  } finally {
    await temporal.close();
  }
}

async function* searchAttributesFinding(temporal: TemporalConnection, fix: boolean): Findings {
  if (!fix) await requireSearchAttributes(temporal);
  const registered = fix ? await registerSearchAttributes(temporal) : [];
  const detail = registered.length === 0 ? 'registered' : `registered now: ${registered.join(', ')}`;
  yield ok('search attributes', detail);
}

/**
 * Workflows that no worker can continue; `fix` terminates them, so that targets can start again. Those that
 * continue with a payload key that is here are left alone.
 */
export async function* stuckFindings(temporal: TemporalConnection, fix: boolean): Findings {
  const name = 'workflows';
  const tasks = await findStuckTasks(temporal);
  for (const stuck of tasks) {
    const { workflowId, isTarget, lackedKey } = stuck;
    if (fix && lackedKey?.isHere !== true) {
      await terminateStuck(temporal, stuck);
      yield ok(name, `${workflowId}: terminated${isTarget ? ' and started again' : ''}`);
    } else {
      const detail = `SLIPWAY_WORKFLOW_STUCK: ${workflowId}: ${stuckText(stuck)}`;
      yield lacking(name, detail, remedyOf(stuck), 3);
    }
  }
  if (tasks.length === 0) yield ok(name, 'workers can continue all of them');
}

async function* keysFinding(temporal: TemporalConnection, first: string, fix: boolean): Findings {
  const name = 'payload keys';
  const uses = await findOldKeys(temporal);
  const kept = uses.filter(({ renew }) => renew === null);
  if (fix) for (const { renew } of uses) await renew?.();
  const renewed = fix ? uses.length - kept.length : 0;
  const left = fix ? kept : uses;
  const did = renewed === 0 ? '' : `; ${renewed} encrypted with it now: look again`;
  if (left.length === 0) {
    yield ok(name, `"${first}" encrypts, and nothing that runs needs another key${did}`);
    return;
  }
  const keys = [...new Set(left.flatMap((use) => use.keys))].map((key) => `"${key}"`).join(', ');
  const ids = left.slice(0, SHOWN).map(({ id }) => id);
  const more = left.length > SHOWN ? ` and ${left.length - SHOWN} more` : '';
  yield warning(
    name,
    `"${first}" encrypts, and ${ids.join(', ')}${more} still need ${keys}${did}`,
    left.length > kept.length ? 'slipway doctor --fix' : 'wait until they have ended',
  );
}

const SHOWN = 5;

/** Each version that gets new work, or that a running workflow is pinned to, needs a worker. */
async function* workerFinding(temporal: TemporalConnection, taskQueue: string): Findings {
  const pinned = (await runningPinned(temporal)).map(({ buildId }) => buildId);
  const workers = await requireEachVersion(temporal, 0, pinned);
  yield ok('worker', `${workers.join(', ')} on the task queue "${taskQueue}"`);
}

async function* configFindings(context: CommandContext, path: string | undefined): Findings {
  const loaded = await loadConfig(path);
  const { config, file } = loaded;
  const checks = config.checks.length;
  yield checks === 0
    ? warning(
        'slipway.yaml',
        `${file} has no checks`,
        'add checks: without them a revision counts as verified once it serves',
      )
    : ok(
        'slipway.yaml',
        `${file}: targets ${Object.keys(config.targets).join(', ')}; ${counted(checks, 'check')}`,
      );
  yield* orProblem('artifact store', storeFinding(context, loaded));
  for (const { message } of await pythonAgentProblems(loaded)) yield warning('agent', message, null);
  let { environment } = context;
  try {
    if (readSecretOrigins(environment) === undefined) yield warning('secret origins', UNBOUND, BIND);
  } catch (error) {
    yield problemOf('secret origins', error);
    // An unreadable file is one finding, and not one for each secret.
    environment = { ...environment, SLIPWAY_SECRET_ORIGINS: '' };
  }
  yield* secretFindings(config, environment);
  for (const name of Object.keys(config.targets)) {
    const { target } = releaseSettings(config, name);
    yield keyFinding(name, target);
    yield await controlPlaneFinding(context, name, target);
  }
}

/** Writes nothing. A read of a record that does not exist also proves that a bucket exists. */
async function* storeFinding(context: CommandContext, loaded: LoadedConfig): Findings {
  const store = artifactStoreOf(loaded, context);
  await store.getRecord('doctor.json');
  yield ok('artifact store', `${store.url} can be read`);
}

const UNBOUND =
  'not set here: a client that can start workflows chooses where each secret of the worker is sent (docs/threat-model.md)';
const BIND = 'set SLIPWAY_SECRET_ORIGINS of the worker to a file of allowed origins';

function* secretFindings(
  config: LoadedConfig['config'],
  environment: CommandContext['environment'],
): Generator<Finding, void> {
  const uses = secretUses(config);
  for (const [index, use] of uses.entries()) {
    const { from, where } = use;
    const same = uses.filter((other) => other.from === from && other.where === where);
    if (uses.indexOf(same[0] ?? use) !== index) continue;
    const name = `secret ${from}`;
    const what = `${[...new Set(same.map(({ of }) => of))].join(', ')}: ${where}`;
    try {
      use.resolve(environment);
      yield ok(name, `set; ${what}`);
    } catch (error) {
      const problem = problemOf('secret origins', error);
      const detail = `${problem.detail} (${what})`;
      // This process cannot see whether the other one has a secret that is not set here.
      yield isCodedError(error) && error.code === 'SLIPWAY_SECRET_REFUSED'
        ? { ...problem, detail }
        : warning(name, detail, `set it in the environment of ${use.process}`);
    }
  }
}

function keyFinding(name: string, target: Omit<TargetSpec, 'deployment'>): Finding {
  const { controlPlane, apiKey, agentApiKey, agentUrl, agentOrigins = [] } = target;
  const addresses = [controlPlane, ...(agentUrl === undefined ? [] : [agentUrl])].map(originOf);
  const places = [...new Set(addresses), ...agentOrigins.map(originText)].join(', ');
  const ofAgent =
    agentApiKey === undefined
      ? ''
      : `; ${agentApiKey.from} to ${agentUrl === undefined ? 'any agent address that the control plane gives' : originOf(agentUrl)}`;
  const detail = `${apiKey.from} may be sent to ${places}${ofAgent}`;
  const problem = agentOrigins.map(originProblem).find((found) => found !== undefined);
  return problem === undefined
    ? ok(`keys of ${name}`, detail)
    : warning(`keys of ${name}`, `${detail}: ${problem}`, `change targets.${name}.agentOrigins`);
}

async function controlPlaneFinding(
  context: CommandContext,
  name: string,
  target: Pick<TargetSpec, 'name' | 'controlPlane' | 'apiKey' | 'tenantId' | 'deploymentId'>,
): Promise<Finding> {
  const title = `target ${name}`;
  try {
    await retryBusy(context, () =>
      withControlPlane(context, target, async (client) => {
        if (target.deploymentId !== undefined) await findDeployment(client, target);
        else await client.listDeployments({ limit: 1 });
      }),
    );
    return ok(title, `${target.controlPlane} answers and accepts the key`);
  } catch (error) {
    const problem = problemOf(title, error);
    // The worker may still have a key that is not set here.
    return isCodedError(error) && error.code === 'SLIPWAY_SECRET_MISSING'
      ? warning(title, problem.detail, `set ${target.apiKey.from} here too, to check the key`)
      : problem;
  }
}

/** The findings; an error that ends them is the last one, under this name. */
export async function* orProblem(name: string, all: Findings): Findings {
  try {
    yield* all;
  } catch (error) {
    yield problemOf(name, error);
  }
}

function problemOf(name: string, error: unknown): Finding {
  const { code, message, hint, exitCode } = reportError(error);
  if (code === 'SLIPWAY_INTERNAL') throw error;
  return lacking(name, `${code}: ${message}`, hint, exitCode);
}

function ok(name: string, detail: string): Finding {
  return { name, state: 'ok', detail, fix: null, exitCode: 0 };
}

function warning(name: string, detail: string, fix: string | null): Finding {
  return { name, state: 'warning', detail, fix, exitCode: 0 };
}

function lacking(name: string, detail: string, fix: string | null, exitCode: number): Finding {
  return { name, state: 'missing', detail, fix, exitCode };
}
