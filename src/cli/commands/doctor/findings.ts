import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { errorText } from '@slipway/contract/codedError';

import { loadConfig, type LoadedConfig } from '../../../config/loadConfig.ts';
import { releaseSettings } from '../../../config/releaseSettings.ts';
import { readSecretOrigins } from '../../../config/secretOrigins.ts';
import { SlipwayError } from '../../../domain/errors.ts';
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
import { requireWorker } from '../../../temporal/client/workerPresence.ts';
import { findTemporal } from '../../../temporal/server/installation/installation.ts';
import type { CommandContext } from '../../context.ts';
import type { Finding } from '../../events/checks.ts';
import { counted } from '../../ui/text.ts';
import { pythonAgentProblems } from '../lint/lint.ts';
import { secretUses } from './secretUses.ts';

/**
 * Checks everything that a release needs, one thing after the other. A problem is a finding, never an error.
 * @param options.fix - register what is missing in Temporal, and terminate workflows that no worker can continue.
 */
export async function* findings(
  context: CommandContext,
  options: { readonly fix: boolean; readonly config: string | undefined },
): AsyncGenerator<Finding, void> {
  yield ok('node', process.versions.node);
  yield await gitFinding();
  yield* temporalFindings(context, options.fix);
  yield* configFindings(context, options.config);
}

async function gitFinding(): Promise<Finding> {
  try {
    const { stdout } = await promisify(execFile)('git', ['--version'], { timeout: 10_000 });
    return ok('git', stdout.trim().replace(/^git version /, ''));
  } catch (error) {
    return warning('git', errorText(error), 'install git: releases then record their commit');
  }
}

async function* temporalFindings(
  { home, environment }: CommandContext,
  fix: boolean,
): AsyncGenerator<Finding, void> {
  const settings = await attempt('Temporal', () => temporalSettings(home, environment));
  if ('finding' in settings) {
    yield settings.finding;
    return;
  }
  const { address, namespace, origin, taskQueue } = settings.value;
  if (origin === 'default') {
    const command = await findTemporal(environment);
    yield command === undefined
      ? warning('temporal command', 'not found; "slipway dev" installs it', 'slipway temporal install')
      : ok('temporal command', `${command.path} (${command.origin})`);
  }
  const connected = await attempt('Temporal', () => connectTemporal(settings.value));
  if ('finding' in connected) {
    yield connected.finding;
    return;
  }
  const temporal = connected.value;
  try {
    yield ok('Temporal', `${address}, namespace "${namespace}"`);
    yield await searchAttributesFinding(temporal, fix);
    yield await workerFinding(temporal, taskQueue);
    yield* stuckFindings(temporal, fix);
    const [first, ...others] = settings.value.codec?.keyIds ?? [];
    if (first !== undefined && others.length > 0) yield await keysFinding(temporal, first, fix);
  } finally {
    await temporal.close();
  }
}

function searchAttributesFinding(temporal: TemporalConnection, fix: boolean): Promise<Finding> {
  const name = 'search attributes';
  return found(name, async () => {
    if (!fix) {
      await requireSearchAttributes(temporal);
      return ok(name, 'registered');
    }
    const registered = await registerSearchAttributes(temporal);
    return ok(name, registered.length === 0 ? 'registered' : `registered now: ${registered.join(', ')}`);
  });
}

/**
 * Workflows that no worker can continue; `fix` terminates them, so that targets can start again. Those that
 * continue with a payload key that is here are left alone.
 */
export async function* stuckFindings(
  temporal: TemporalConnection,
  fix: boolean,
): AsyncGenerator<Finding, void> {
  const name = 'workflows';
  const tasks = await attempt(name, () => findStuckTasks(temporal));
  if ('finding' in tasks) {
    yield tasks.finding;
    return;
  }
  for (const stuck of tasks.value) {
    const { workflowId, isTarget, lackedKey } = stuck;
    if (fix && lackedKey?.isHere !== true) {
      await terminateStuck(temporal, stuck);
      yield ok(name, `${workflowId}: terminated${isTarget ? ' and started again' : ''}`);
    } else {
      const detail = `SLIPWAY_WORKFLOW_STUCK: ${workflowId}: ${stuckText(stuck)}`;
      yield lacking(name, detail, remedyOf(stuck), 3);
    }
  }
  if (tasks.value.length === 0) yield ok(name, 'workers can continue all of them');
}

/** What still needs another payload key than the first one; `fix` encrypts with the first one what lives for long. */
function keysFinding(temporal: TemporalConnection, first: string, fix: boolean): Promise<Finding> {
  const name = 'payload keys';
  return found(name, async () => {
    const uses = await findOldKeys(temporal);
    const kept = uses.filter(({ renew }) => renew === null);
    if (fix) for (const { renew } of uses) await renew?.();
    const renewed = fix ? uses.length - kept.length : 0;
    const left = fix ? kept : uses;
    const did = renewed === 0 ? '' : `; ${renewed} encrypted with it now: look again`;
    if (left.length === 0)
      return ok(name, `"${first}" encrypts, and nothing that runs needs another key${did}`);
    const keys = [...new Set(left.flatMap((use) => use.keys))].map((key) => `"${key}"`).join(', ');
    const ids = left.slice(0, SHOWN).map(({ id }) => id);
    const more = left.length > SHOWN ? ` and ${left.length - SHOWN} more` : '';
    return warning(
      name,
      `"${first}" encrypts, and ${ids.join(', ')}${more} still need ${keys}${did}`,
      left.length > kept.length ? 'slipway doctor --fix' : 'wait until they have ended',
    );
  });
}

const SHOWN = 5;

function workerFinding(temporal: TemporalConnection, taskQueue: string): Promise<Finding> {
  return found('worker', async () => {
    const workers = await requireWorker(temporal, 0);
    return ok('worker', `${workers.join(', ')} on the task queue "${taskQueue}"`);
  });
}

async function* configFindings(
  context: CommandContext,
  path: string | undefined,
): AsyncGenerator<Finding, void> {
  const loaded = await attempt('slipway.yaml', () => loadConfig(path));
  if ('finding' in loaded) {
    yield loaded.finding;
    return;
  }
  const { config, file } = loaded.value;
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
  for (const { message } of await pythonAgentProblems(loaded.value)) yield warning('agent', message, null);
  const origins = await attempt('secret origins', () => readSecretOrigins(context.environment));
  if ('finding' in origins) yield origins.finding;
  else if (origins.value === undefined) yield warning('secret origins', UNBOUND, BIND);
  yield* secretFindings(config, {
    ...context.environment,
    // An unreadable file is one finding, and not one for each secret.
    ...('finding' in origins ? { SLIPWAY_SECRET_ORIGINS: '' } : {}),
  });
  for (const name of Object.keys(config.targets)) {
    const { target } = releaseSettings(config, name);
    yield keyFinding(name, target);
    yield await controlPlaneFinding(context, name, target);
  }
}

const UNBOUND =
  'not set here: a client that can start workflows chooses where each secret of the worker is sent (docs/threat-model.md)';
const BIND = 'set SLIPWAY_SECRET_ORIGINS of the worker to a file of allowed origins';

async function* secretFindings(
  config: LoadedConfig['config'],
  environment: CommandContext['environment'],
): AsyncGenerator<Finding, void> {
  const uses = secretUses(config);
  for (const [index, use] of uses.entries()) {
    const { from, where } = use;
    const same = uses.filter((other) => other.from === from && other.where === where);
    if (uses.indexOf(same[0] ?? use) !== index) continue;
    const name = `secret ${from}`;
    const what = `${[...new Set(same.map(({ of }) => of))].join(', ')}: ${where}`;
    const here = await attempt(name, () => use.resolve(environment));
    if (!('finding' in here)) yield ok(name, `set; ${what}`);
    else if (here.code === 'SLIPWAY_SECRET_REFUSED') {
      yield { ...here.finding, name: 'secret origins', detail: `${here.finding.detail} (${what})` };
    } else {
      // This process cannot see whether the other one has it.
      yield warning(name, `${here.finding.detail} (${what})`, `set it in the environment of ${use.process}`);
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
  const asked = await attempt(title, () =>
    withControlPlane(context, target, async (client) => {
      if (target.deploymentId !== undefined) await findDeployment(client, target);
      else await client.listDeployments({ limit: 1 });
    }),
  );
  if (!('finding' in asked)) return ok(title, `${target.controlPlane} answers and accepts the key`);
  const { code } = asked;
  if (code !== 'SLIPWAY_SECRET_MISSING') return asked.finding;
  // The worker may still have the key.
  return warning(title, asked.finding.detail, `set ${target.apiKey.from} here too, to check the key`);
}

type Attempted<T> =
  { readonly value: T } | { readonly finding: Finding; readonly code: SlipwayError['code'] };

async function attempt<T>(name: string, work: () => T | Promise<T>): Promise<Attempted<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    if (!(error instanceof SlipwayError)) throw error;
    const { code, message, hint, exitCode } = error;
    return { finding: lacking(name, `${code}: ${message}`, hint ?? null, exitCode), code };
  }
}

async function found(name: string, work: () => Promise<Finding>): Promise<Finding> {
  const attempted = await attempt(name, work);
  return 'finding' in attempted ? attempted.finding : attempted.value;
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
