import { Console } from 'node:console';
import { url as debuggerUrl } from 'node:inspector';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { Networks } from '@slipway/contract/clientAddress';
import type { Logger } from 'pino';

import { type AgentEnvironment, readAgentEnvironment } from './agentEnvironment.ts';
import { type AgentServer, startAgentServer } from './agentServer/agentServer.ts';
import { RunEndedHere } from './agentServer/store/checkpointStore.ts';
import type { AgentSpans } from './agentServer/traces/agentSpans.ts';
import { type TraceVariables, withTraceVariables } from './agentServer/traces/traceVariables.ts';
import { PlatformError } from './errors.ts';
import { watchEventLoop } from './eventLoopWatch.ts';
import { listen } from './http/listen.ts';
import { createLogger } from './http/logger.ts';
import { HAND_OVER_MS } from './runtime/agentStart.ts';
import { openAgentSocket, openProxy } from './runtime/containedAgent.ts';

export interface ServeAgentOptions {
  dir: string;
  /** 0 takes a free port. */
  port: number;
  /** Default `127.0.0.1`. */
  host?: string;
  /** Allows an address that other machines reach without a key. Default: refused. */
  isOpen?: boolean;
  /** The only line on stdout, when it is ready; the agent's output goes to stderr. Default: a line for people. */
  readyLine?: (url: string) => string;
  /** Reports why it cannot be served, and returns the exit code. Default: one line on stderr. */
  onFailure?: (error: unknown) => number;
  /** The OpenTelemetry variables for its spans. Default: the platform's; else none. */
  traces?: TraceVariables;
  /** The graph configuration, relative to `dir`. Default `graph.json`, or `langgraph.json`. */
  config?: string;
}

/**
 * Serves one agent's Run API in this process until SIGTERM or SIGINT, then drains and exits 0 (a second signal exits
 * at once). With `SLIPWAY_EXIT_WITH_PARENT=1` (the default with a deployment id) it also ends when its stdin closes,
 * so it ends with the platform in any case. A graph that cannot be loaded exits 1, with the reason as the last line
 * on stderr.
 *
 * An unhandled rejection, an uncaught error or `process.exit` in an agent's code ends only its own run. A supervised
 * process ends if its event loop stands still.
 *
 * Its settings come from the environment (`docs/run-api.md`). Without a database it keeps an embedded one under
 * `SLIPWAY_HOME` (default `.slipway` in `DIR`).
 */
export async function serveAgent(options: ServeAgentOptions): Promise<void> {
  const dir = resolve(options.dir);
  let log = createLogger();
  const exit = replaceProcessExit();
  // Errors that an agent's code leaves unhandled are logged, and end only its own run.
  process.on('unhandledRejection', (reason) => {
    if (reason instanceof RunEndedHere) log.info(reason.message);
    else log.error({ err: reason }, 'a promise of the agent was rejected');
  });
  // Without a listener, Node warns about each one that is handled after all.
  process.on('rejectionHandled', () => undefined);
  process.on('uncaughtException', (error) =>
    log.error({ err: error }, 'an error of the agent was not caught'),
  );
  if (options.readyLine !== undefined) globalThis.console = new Console(process.stderr, process.stderr);
  let environment: AgentEnvironment;
  let server: AgentServer;
  try {
    environment = readAgentEnvironment(dir);
    const { deploymentId: deployment, revisionId: revision } = environment.serverOptions;
    log = log.child({ deployment, revision });
    requireKeyBeyondLoopback(options, environment.serverOptions.apiKey);
    changeDirectory(dir);
    // Loading an agent takes seconds, so check the port first.
    await requireFreePort(options);
    const { sockets, serverOptions } = environment;
    const proxy = sockets === undefined ? undefined : await openProxy(sockets);
    server = await startAgentServer({
      ...serverOptions,
      webhooks: { ...serverOptions.webhooks, proxy },
      agentDir: dir,
      port: options.port,
      log,
      spans: await openSpans(options.traces ?? environment.traces, { deployment, revision }),
      host: options.host,
      graphConfigPath: options.config === undefined ? undefined : resolve(dir, options.config),
    });
    if (sockets !== undefined) await openAgentSocket(sockets, server.url);
  } catch (error) {
    const exitCode = (options.onFailure ?? printFailure)(error);
    // After what it has printed.
    process.stderr.write('', () => exit(exitCode));
    return;
  }
  const { exitWithParent, drainMs, stallMs } = environment;
  // A debugger's breakpoint also stops the loop.
  if (stallMs > 0 && debuggerUrl() === undefined) await watchEventLoop(stallMs);
  const parentGone = exitWithParent ? parentExitSignal() : new AbortController().signal;
  const ended = waitForShutdown(parentGone, exit);
  process.stdout.write(options.readyLine?.(server.url) ?? `Serving ${dir} at ${server.url}\n`);
  await ended;
  // The agent's own timers and sockets may still be open, but serve nothing.
  exit((await shutDown(server, drainMs, parentGone, log)) ? 0 : 1);
}

/** @throws PlatformError SLIPWAY_AGENT_OPEN if any client on the network could run the agent. */
function requireKeyBeyondLoopback(
  { host = '127.0.0.1', isOpen = false }: ServeAgentOptions,
  apiKey: string | undefined,
) {
  if (isOpen || apiKey !== undefined || isLoopback(host)) return;
  throw new PlatformError('SLIPWAY_AGENT_OPEN', `Every client that reaches ${host} could run this agent`, {
    place: host,
    hint: 'Set a key, SLIPWAY_AGENT_API_KEY="$(openssl rand -hex 24)", or allow it: --without-key',
  });
}

/** Loads OpenTelemetry only for spans. */
async function openSpans(
  variables: TraceVariables | undefined,
  { deployment, revision }: { readonly deployment?: string; readonly revision?: string },
): Promise<AgentSpans | undefined> {
  if (variables === undefined) return undefined;
  const { openAgentSpans } = await import('./agentServer/traces/openAgentSpans.ts');
  const identity = { 'slipway.deployment': deployment, 'slipway.revision': revision };
  return withTraceVariables(variables, () => openAgentSpans(identity));
}

/** @throws PlatformError SLIPWAY_PORT_UNAVAILABLE */
async function requireFreePort({ port, host }: ServeAgentOptions): Promise<void> {
  if (port === 0) return;
  const tried = await listen(() => undefined, { port, host });
  await tried.close(0);
}

/** @throws PlatformError SLIPWAY_USAGE if this process cannot enter the folder. */
function changeDirectory(dir: string): void {
  try {
    process.chdir(dir);
  } catch (error) {
    throw new PlatformError('SLIPWAY_USAGE', `${dir} is not a folder that can be entered`, {
      place: dir,
      hint: 'Name the folder that holds the agent and its graph.json.',
      cause: error,
    });
  }
}

/** Drains and closes, at once without a parent, and within a limit: a database that ended with it would block. */
async function shutDown(
  server: AgentServer,
  drainMs: number,
  parentGone: AbortSignal,
  log: Logger,
): Promise<boolean> {
  const closed = (async () => {
    await server.drain(drainMs, parentGone);
    await server.close();
    return true;
  })().catch((error: unknown) => {
    log.error({ err: error }, 'the agent server could not be closed in order');
    return false;
  });
  return Promise.race([closed, delay(drainMs + HAND_OVER_MS, false)]);
}

/** Resolves when the process should end: on a signal, or when the parent is gone. */
function waitForShutdown(parentGone: AbortSignal, exit: (code: number) => never): Promise<void> {
  return new Promise((resolve) => {
    const onSignal = () => {
      process.once('SIGTERM', () => exit(1));
      process.once('SIGINT', () => exit(1));
      resolve();
    };
    process.once('SIGTERM', onSignal);
    process.once('SIGINT', onSignal);
    parentGone.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Aborted when the parent closes its end of stdin, or is gone. */
function parentExitSignal(): AbortSignal {
  const gone = new AbortController();
  for (const event of ['end', 'error', 'close']) process.stdin.once(event, () => gone.abort());
  process.stdin.resume();
  return gone.signal;
}

function printFailure(error: unknown): number {
  process.stderr.write(`${describeError(error)}\n`);
  return error instanceof PlatformError ? error.exitCode : 1;
}

function describeError(error: unknown): string {
  if (!(error instanceof PlatformError))
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  const { code, message, hint } = error;
  if (hint === undefined) return `${code}: ${message}`;
  return `${code}: ${message}${/[.!?]$/.test(message) ? '' : '.'} ${hint}`;
}

/** An agent's code called `process.exit`: its run ends with this error, and the server keeps serving. */
class ProcessExitRefused extends Error {
  constructor(code: number | string | null | undefined) {
    super(`The graph called process.exit(${code ?? ''}): the server continues.`);
    this.name = 'ProcessExitRefused';
  }
}

/**
 * Disables `process.exit` for the agent's code, and returns the real one. Decision: an agent's code is trusted, but a
 * library that exits on an error must not end other runs. `process.kill` and `process.abort` still work: the platform
 * then restarts the agent.
 */
function replaceProcessExit(): (code: number) => never {
  const exit = process.exit.bind(process);
  process.exit = (code) => {
    throw new ProcessExitRefused(code);
  };
  return exit;
}

const LOOPBACK = new Networks(['127.0.0.0/8', '::1']);

/** Whether only this machine can reach a host: `localhost`, 127.0.0.0/8 or `::1`. Names are not resolved. */
function isLoopback(host: string): boolean {
  return isIP(host) === 0 ? host.toLowerCase() === 'localhost' : LOOPBACK.contains(host);
}
