import { join, resolve } from 'node:path';

import type { AgentServerOptions } from './agentServer/agentServer.ts';
import { ReachableAddresses } from './agentServer/webhooks/reachableAddresses.ts';
import { PlatformError } from './errors.ts';
import { takeTraces } from './agentServer/traces/traceVariables.ts';
import { DRAIN_MS } from './runtime/agentStart.ts';
import { unpackEnvironment } from './runtime/childEnvironment.ts';

/** The default limit for a standstill of the event loop, in seconds. */
const STALL_SECONDS = 30;

/** The longest durations: a longer timer would end at once. Also more than any count. */
const MILLISECONDS_MAX = 2_000_000_000;
const SECONDS_MAX = MILLISECONDS_MAX / 1_000;

export type AgentEnvironment = ReturnType<typeof readAgentEnvironment>;

/**
 * Reads the variables in `docs/run-api.md`, and removes an agent server's settings from the environment, because the
 * agent's code sees it.
 * @throws PlatformError SLIPWAY_AGENT_SETTING_INVALID
 */
export function readAgentEnvironment(dir: string) {
  unpackEnvironment();
  const deploymentId = takeVariable('SLIPWAY_AGENT_DEPLOYMENT_ID');
  // A deployment id means the platform: it holds the other end of stdin, and restarts the agent.
  const supervised = deploymentId !== undefined;
  const traces = takeTraces();
  const stallSeconds =
    takeNumber('SLIPWAY_AGENT_STALL_SECONDS', 0, SECONDS_MAX) ?? (supervised ? STALL_SECONDS : 0);
  const serverOptions: Partial<AgentServerOptions> = {
    home: join(resolve(process.env['SLIPWAY_HOME'] ?? join(dir, '.slipway')), 'agent'),
    databaseUrl: takeVariable('SLIPWAY_AGENT_DATABASE_URL'),
    apiKey: takeVariable('SLIPWAY_AGENT_API_KEY'),
    tracingUrl: takeVariable('SLIPWAY_AGENT_TRACING_URL'),
    deploymentId,
    revisionId: takeVariable('SLIPWAY_AGENT_REVISION_ID'),
    projectName: takeVariable('SLIPWAY_AGENT_PROJECT_NAME'),
    leaseMs: takeNumber('SLIPWAY_AGENT_LEASE_MS', 1_000),
    maxAttempts: takeNumber('SLIPWAY_AGENT_MAX_ATTEMPTS', 1),
    limits: {
      concurrentRuns: takeNumber('SLIPWAY_AGENT_CONCURRENT_RUNS', 1),
      pendingRuns: takeNumber('SLIPWAY_AGENT_PENDING_RUNS', 1),
      runSeconds: takeNumber('SLIPWAY_AGENT_RUN_SECONDS', 0.001, SECONDS_MAX),
    },
    webhooks: {
      allow: takeAddresses('SLIPWAY_AGENT_WEBHOOK_ALLOW'),
      secret: takeVariable('SLIPWAY_AGENT_WEBHOOK_SECRET'),
    },
  };
  return {
    serverOptions,
    /** The variables for its spans. `undefined`: no spans. */
    traces,
    /** The folder of its sockets, in a container without a network. */
    sockets: takeVariable('SLIPWAY_AGENT_SOCKETS'),
    /** Whether it ends when its stdin closes. */
    exitWithParent: (process.env['SLIPWAY_EXIT_WITH_PARENT'] ?? (supervised ? '1' : '0')) === '1',
    /** How long running runs may continue after SIGTERM, in milliseconds. */
    drainMs: takeNumber('SLIPWAY_AGENT_DRAIN_MS', 0) ?? DRAIN_MS,
    /** The limit for a standstill of the event loop, in milliseconds; 0 for none. */
    stallMs: stallSeconds * 1_000,
  };
}

function takeVariable(name: string): string | undefined {
  const value = process.env[name];
  Reflect.deleteProperty(process.env, name);
  return value === '' ? undefined : value;
}

function takeNumber(name: string, minimum: number, maximum = MILLISECONDS_MAX): number | undefined {
  const value = takeVariable(name);
  if (value === undefined) return undefined;
  const number = Number(value);
  if (number >= minimum && number <= maximum) return number;
  throw new PlatformError('SLIPWAY_AGENT_SETTING_INVALID', `${name} is "${value}"`, {
    place: name,
    hint: `Give a number from ${minimum} to ${maximum}, or leave it out.`,
  });
}

function takeAddresses(name: string): string[] {
  const entries = (takeVariable(name) ?? '').split(',').map((entry) => entry.trim());
  const given = entries.filter((entry) => entry !== '');
  try {
    new ReachableAddresses(given);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new PlatformError('SLIPWAY_AGENT_SETTING_INVALID', `${name}: ${error.message}`, {
      place: name,
      hint: 'Give addresses, networks (10.0.0.0/8) or host names, separated by commas; * allows all.',
      cause: error,
    });
  }
  return given;
}
