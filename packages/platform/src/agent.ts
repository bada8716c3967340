import { Console } from 'node:console';
import { url as debuggerUrl } from 'node:inspector';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

import type { Logger } from 'pino';

import { type AgentEnvironment, readAgentEnvironment } from './agentEnvironment.ts';
import { type AgentServer, startAgentServer } from './agentServer/agentServer.ts';
import type { AgentSpans } from './agentServer/traces/agentSpans.ts';
import { type TraceVariables, withTraceVariables } from './agentServer/traces/traceVariables.ts';
import { HAND_OVER_MS } from './draining.ts';
import { PlatformError } from './errors.ts';
import { listen } from './http/listen.ts';
import { isLoopback } from './http/loopback.ts';
import { createLogger } from './http/logger.ts';
import { openAgentSocket, openProxy } from './runtime/containedAgent.ts';

/** How one agent is served. */
export interface ServeAgentOptions {
  /** The agent's folder. */
  dir: string;
  /** 0 takes a free one. */
  port: number;
  /** Default `127.0.0.1`. */
  host?: string;
  /** Serves on an address that other machines reach also without a key. Default: refused. */
  isOpen?: boolean;
  /**
   * The line on stdout when it is ready. With it nothing else is printed there: what the agent itself prints goes to
   * stderr. Default: a line for people.
   */
  readyLine?: (url: string) => string;
  /** The variables of OpenTelemetry by which it sends its spans. Default: those that the platform gave; else none. */
  traces?: TraceVariables;
  /** The graph configuration, relative to `dir`. Default `graph.json`, or `langgraph.json`. */
  config?: string;
}

/**
 * Serves one agent's Run API in this process until SIGTERM or SIGINT, then drains and exits 0 (a second signal
 * exits at once). With `SLIPWAY_EXIT_WITH_PARENT=1` (the default where a deployment id is given) it also ends when its
 * stdin does: it dies with the platform, however that dies. A graph that cannot be loaded exits 1, with the reason as
 * the last line on stderr. What an agent's code does to the process ends only its own run: an unhandled rejection, an
 * uncaught error, `process.exit`; where somebody starts it again, a standstill of the event loop ends it.
 *
 * Its settings come from the environment (`docs/run-api.md`); without a database it keeps an embedded one under
 * `SLIPWAY_HOME` (default `.slipway` in `DIR`).
 */
export async function serveAgent(options: ServeAgentOptions): Promise<void> {
  const dir = resolve(options.dir);
  let log = createLogger();
  const exit = keepProcessExit();
  // What an agent's code leaves unhandled is logged, and ends only its own run: others are being served.
  process.on('unhandledRejection', (reason) =>
    log.error({ err: reason }, 'a promise of the agent was rejected'),
  );
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
    refuseOpen(options, environment.serverOptions.apiKey);
    enter(dir);
    // Loading an agent takes seconds: a port that is taken is found before.
    await refuseTakenPort(options);
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
    process.stderr.write(`${describeError(error)}\n`, () =>
      exit(error instanceof PlatformError ? error.exitCode : 1),
    );
    return;
  }
  const { exitWithParent, drainMs, stallMs } = environment;
  // At a breakpoint of a debugger the loop stands still.
  if (stallMs > 0 && debuggerUrl() === undefined) await watchEventLoop(stallMs);
  const parentGone = exitWithParent ? endOfParent() : new AbortController().signal;
  const ended = untilAskedToEnd(parentGone, exit);
  process.stdout.write(options.readyLine?.(server.url) ?? `Serving ${dir} at ${server.url}\n`);
  await ended;
  // The agent's own timers and sockets may still be open: they have nothing left to serve.
  exit((await shutDown(server, drainMs, parentGone, log)) ? 0 : 1);
}

/** @throws PlatformError SLIPWAY_AGENT_OPEN if everybody on the network could run the agent. */
function refuseOpen({ host = '127.0.0.1', isOpen = false }: ServeAgentOptions, apiKey: string | undefined) {
  if (isOpen || apiKey !== undefined || isLoopback(host)) return;
  throw new PlatformError('SLIPWAY_AGENT_OPEN', `Every client that reaches ${host} could run this agent.`, {
    place: host,
    hint: 'Set a key, SLIPWAY_AGENT_API_KEY="$(openssl rand -hex 24)", or allow it: --without-key',
  });
}

/** Nothing of OpenTelemetry is loaded unless spans are wanted. */
async function openSpans(
  variables: TraceVariables | undefined,
  {
    deployment,
    revision,
  }: { readonly deployment: string | undefined; readonly revision: string | undefined },
): Promise<AgentSpans | undefined> {
  if (variables === undefined) return undefined;
  const { openAgentSpans } = await import('./agentServer/traces/openAgentSpans.ts');
  const identity = { 'slipway.deployment': deployment, 'slipway.revision': revision };
  return withTraceVariables(variables, () => openAgentSpans(identity));
}

/** @throws PlatformError SLIPWAY_PORT_UNAVAILABLE */
async function refuseTakenPort({ port, host }: ServeAgentOptions): Promise<void> {
  if (port === 0) return;
  const tried = await listen(() => undefined, { port, host });
  await tried.close(0);
}

/** @throws PlatformError SLIPWAY_USAGE where it is no folder that this process may enter. */
function enter(dir: string): void {
  try {
    process.chdir(dir);
  } catch (error) {
    throw new PlatformError('SLIPWAY_USAGE', `${dir} is not a folder that can be entered.`, {
      place: dir,
      hint: 'Name the folder that holds the agent and its graph.json.',
      cause: error,
    });
  }
}

/**
 * Drains and closes. A parent that is gone, or closes its end, has nobody waiting for runs: no patience from then on. A
 * database that died with the platform keeps nobody: there is a limit.
 */
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

/** Resolves when the process is to end: it got a signal, or its parent is gone. */
function untilAskedToEnd(parentGone: AbortSignal, exit: (code: number) => never): Promise<void> {
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

/** Aborted when the parent closes its end of our stdin, or is gone. */
function endOfParent(): AbortSignal {
  const gone = new AbortController();
  for (const event of ['end', 'error', 'close']) process.stdin.once(event, () => gone.abort());
  process.stdin.resume();
  return gone.signal;
}

/** One line: code, what happened, and what to do. */
function describeError(error: unknown): string {
  if (!(error instanceof PlatformError))
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  const { code, message, hint } = error;
  if (hint === undefined) return `${code}: ${message}`;
  return `${code}: ${message}${/[.!?]$/.test(message) ? '' : ':'} ${hint}`;
}

/** An agent's code called `process.exit`: its run ends with this error, and the server goes on serving the others. */
class ProcessExitRefused extends Error {
  constructor(code: number | string | null | undefined) {
    super(`The graph called process.exit(${code ?? ''}): the server continues.`);
    this.name = 'ProcessExitRefused';
  }
}

/**
 * Takes `process.exit` away from the agent's code, and gives it to who really ends the process. Decision: an agent's
 * code is trusted, and yet a library that ends the process on an error must not take other people's runs along.
 * `process.kill` and `process.abort` are left alone: after them the platform starts the agent again.
 */
function keepProcessExit(): (code: number) => never {
  const exit = process.exit.bind(process);
  process.exit = (code) => {
    throw new ProcessExitRefused(code);
  };
  return exit;
}

/**
 * Ends this process when its event loop stands still for `limitMs`: code that never yields blocks every run, every
 * request and every signal handler, and nothing inside the loop can stop it. Whoever supervises the process (the
 * platform) starts it again, and its runs are taken up as after a crash.
 *
 * A thread of its own looks; it says why on stderr and sends SIGKILL. Resolves once it looks.
 */
async function watchEventLoop(limitMs: number): Promise<void> {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  setInterval(() => Atomics.add(beats, 0, 1), limitMs / (2 * LOOKS)).unref();
  const watcher = new Worker(WATCHER, { eval: true, workerData: { beats, limitMs, looks: LOOKS } });
  watcher.unref();
  await new Promise<void>((resolve, reject) => {
    watcher.once('online', resolve);
    watcher.once('error', reject);
  });
}

/** How often within the limit it is looked. Looks are counted, not time: a machine that slept has not stood still. */
const LOOKS = 5;

/** Plain JavaScript for a thread: it must not depend on the loop that it watches, so it writes to the file itself. */
const WATCHER = `
const { writeSync } = require('node:fs');
const { workerData: { beats, limitMs, looks } } = require('node:worker_threads');
let seen = -1;
let still = 0;
setInterval(() => {
  const now = Atomics.load(beats, 0);
  still = now === seen ? still + 1 : 0;
  seen = now;
  if (still < looks) return;
  try {
    const msg = 'the event loop stood still for ' + limitMs / 1000 + ' s: a graph blocks it, and the process is ended';
    writeSync(2, JSON.stringify({ level: 60, time: new Date().toISOString(), msg }) + '\\n');
  } finally {
    process.kill(process.pid, 'SIGKILL');
  }
}, limitMs / looks);
`;
