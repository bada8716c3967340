import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { loadConfig, type LoadedConfig } from '../../../config/loadConfig.ts';
import { releaseSettings } from '../../../config/releaseSettings.ts';
import { resolveSecret } from '../../../config/secretReference.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { TargetSpec } from '../../../domain/target/targetSpec.ts';
import { connectTemporal, type TemporalConnection } from '../../../temporal/client/connection.ts';
import {
  missingSearchAttributes,
  registerSearchAttributes,
} from '../../../temporal/client/searchAttributes.ts';
import { findStuckTasks, terminateStuck } from '../../../temporal/client/stuckTask.ts';
import { temporalSettings } from '../../../temporal/client/temporalSettings.ts';
import { pollingWorkers } from '../../../temporal/client/workerPresence.ts';
import { findTemporal } from '../../../temporal/server/installation/installation.ts';
import type { CommandContext } from '../../context.ts';
import type { Finding } from '../../events/checks.ts';
import { counted } from '../../ui/text.ts';
import { pythonAgentProblems } from '../lint/pythonAgent.ts';
import { withControlPlane } from '../target/targetAccess.ts';

/** How findings are looked for. */
interface DoctorOptions {
  /** Register what is missing in Temporal, and terminate workflows that no worker can continue. */
  readonly fix: boolean;
  readonly config: string | undefined;
}

/** Looks at everything that a release needs, one thing after the other, and never throws for what it finds. */
export async function* findings(
  context: CommandContext,
  options: DoctorOptions,
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
    const why = error instanceof Error ? error.message : String(error);
    return {
      name: 'git',
      state: 'warning',
      detail: why,
      fix: 'install git: releases then record their commit',
      exitCode: 0,
    };
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
    const found = await findTemporal(environment);
    yield found === undefined
      ? {
          name: 'temporal command',
          state: 'warning',
          detail: 'not found; "slipway dev" installs it',
          fix: 'slipway temporal install',
          exitCode: 0,
        }
      : ok('temporal command', `${found.path} (${found.origin})`);
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
  } finally {
    await temporal.close();
  }
}

async function searchAttributesFinding(
  { connection, settings }: TemporalConnection,
  fix: boolean,
): Promise<Finding> {
  const name = 'search attributes';
  const found = await attempt(name, async () => {
    if (fix)
      return { registered: await registerSearchAttributes(connection, settings.namespace), missing: [] };
    return { registered: [], missing: await missingSearchAttributes(connection, settings.namespace) };
  });
  if ('finding' in found) return found.finding;
  const { registered, missing } = found.value;
  if (missing.length > 0)
    return lacking(name, `not registered: ${missing.join(', ')}`, 'slipway doctor --fix', 6);
  return ok(name, registered.length === 0 ? 'registered' : `registered now: ${registered.join(', ')}`);
}

/** Workflows that no worker can continue; `fix` terminates them, so that targets can start again. */
export async function* stuckFindings(
  temporal: TemporalConnection,
  fix: boolean,
): AsyncGenerator<Finding, void> {
  const name = 'workflows';
  const found = await attempt(name, () => findStuckTasks(temporal));
  if ('finding' in found) {
    yield found.finding;
    return;
  }
  for (const stuck of found.value) {
    const detail = `${stuck.workflowId}: its task failed ${stuck.attempts} times in a row: ${stuck.cause}`;
    if (fix) await terminateStuck(temporal, stuck);
    yield fix
      ? ok(name, `${stuck.workflowId}: terminated${stuck.isTarget ? ' and started again' : ''}`)
      : lacking(name, `SLIPWAY_WORKFLOW_STUCK: ${detail}`, 'slipway doctor --fix', 3);
  }
  if (found.value.length === 0) yield ok(name, 'workers can continue all of them');
}

async function workerFinding(temporal: TemporalConnection, taskQueue: string): Promise<Finding> {
  const workers = await attempt('worker', () => pollingWorkers(temporal));
  if ('finding' in workers) return workers.finding;
  if (workers.value.length === 0)
    return lacking('worker', `no worker polls the task queue "${taskQueue}"`, 'slipway worker', 6);
  return ok('worker', `${workers.value.join(', ')} on the task queue "${taskQueue}"`);
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
    ? {
        name: 'slipway.yaml',
        state: 'warning',
        detail: `${file} has no checks`,
        fix: 'add checks: without them a revision counts as verified once it serves',
        exitCode: 0,
      }
    : ok(
        'slipway.yaml',
        `${file}: targets ${Object.keys(config.targets).join(', ')}; ${counted(checks, 'check')}`,
      );
  for (const { message } of await pythonAgentProblems(loaded.value))
    yield { name: 'agent', state: 'warning', detail: message, fix: null, exitCode: 0 };
  for (const name of Object.keys(config.targets)) yield* targetFindings(context, config, name);
}

async function* targetFindings(
  context: CommandContext,
  config: LoadedConfig['config'],
  name: string,
): AsyncGenerator<Finding, void> {
  const { target } = releaseSettings(config, name);
  const references = [target.agentApiKey, ...(target.secrets ?? [])].flatMap((secret) => secret?.from ?? []);
  for (const from of new Set(references)) {
    const here = await attempt(`secret ${from}`, async () =>
      Promise.resolve(resolveSecret({ from }, context.environment)),
    );
    // Whether the worker has it cannot be seen from here.
    yield 'finding' in here
      ? { ...here.finding, state: 'warning', fix: 'set it where the worker runs', exitCode: 0 }
      : ok(`secret ${from}`, 'set');
  }
  yield await controlPlaneFinding(context, name, target);
}

async function controlPlaneFinding(
  context: CommandContext,
  name: string,
  target: Pick<TargetSpec, 'controlPlane' | 'apiKey' | 'tenantId' | 'deploymentId'>,
): Promise<Finding> {
  const title = `target ${name}`;
  const asked = await attempt(title, () =>
    withControlPlane(context, target, async (client) => {
      if (target.deploymentId !== undefined) await client.getDeployment(target.deploymentId);
      else await client.listDeployments({ limit: 1 });
    }),
  );
  if (!('finding' in asked)) return ok(title, `${target.controlPlane} answers and accepts the key`);
  const { code } = asked;
  if (code !== 'SLIPWAY_SECRET_MISSING') return asked.finding;
  // The worker may have the key all the same.
  return {
    ...asked.finding,
    state: 'warning',
    fix: `set ${target.apiKey.from} here too, to check the key`,
    exitCode: 0,
  };
}

type Attempted<T> =
  { readonly value: T } | { readonly finding: Finding; readonly code: SlipwayError['code'] };

/** Does something that may fail on purpose; a failure is a finding. */
async function attempt<T>(name: string, work: () => Promise<T>): Promise<Attempted<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    if (!(error instanceof SlipwayError)) throw error;
    const { code, message, hint, exitCode } = error;
    const finding: Finding = {
      name,
      state: 'missing',
      detail: `${code}: ${message}`,
      fix: hint ?? null,
      exitCode,
    };
    return { finding, code };
  }
}

function ok(name: string, detail: string): Finding {
  return { name, state: 'ok', detail, fix: null, exitCode: 0 };
}

function lacking(name: string, detail: string, fix: string, exitCode: number): Finding {
  return { name, state: 'missing', detail, fix, exitCode };
}
