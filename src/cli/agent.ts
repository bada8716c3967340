import { Console } from 'node:console';
import { url as debuggerUrl } from 'node:inspector';
import { isAbsolute, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { type Logger } from 'pino';

import { SlipwayError } from '../domain/errors.ts';
import { type AgentServer, startAgentServer } from '../platform/agentServer/agentServer.ts';
import { keepProcessExit, watchEventLoop } from '../platform/agentServer/processGuard.ts';
import { createLogger } from '../platform/http/logger.ts';
import { type AgentEnvironment, readAgentEnvironment } from './agentEnvironment.ts';

/** The options of `slipway agent DIR`. */
export interface AgentCommandOptions {
  /** The agent's folder. */
  dir: string;
  /** 0 takes a free one. */
  port: number;
  /** Default `127.0.0.1`. */
  host?: string;
  /** Print `{"event":"ready","url":…}` to stdout, and nothing else: what the agent itself prints goes to stderr. */
  json: boolean;
  /** The graph configuration, relative to `dir`. Default `graph.json`, or `langgraph.json`. */
  config?: string;
}

/** How long everything behind the drain may take, in milliseconds. */
const CLOSE_MS = 8_000;

/**
 * `slipway agent DIR`: serves one agent's Run API until SIGTERM or SIGINT, then drains and exits 0 (a second signal
 * exits at once). With `SLIPWAY_EXIT_WITH_PARENT=1` (the default where a deployment id is given) it also ends when its
 * stdin does: it dies with the platform, however that dies. A graph that cannot be loaded exits 1, with the reason as
 * the last line on stderr. What an agent's code does to the process ends only its own run: an unhandled rejection, an
 * uncaught error, `process.exit`; where somebody starts it again, a standstill of the event loop ends it.
 *
 * Its settings come from the environment (`docs/run-api.md`); without a database it keeps an embedded one under
 * `SLIPWAY_HOME` (default `.slipway` in `DIR`).
 */
export async function runAgentCommand(options: AgentCommandOptions): Promise<void> {
  const dir = resolve(options.dir);
  const log = createLogger();
  const exit = keepProcessExit();
  // What an agent's code leaves unhandled is told, and ends only its own run: others are being served.
  process.on('unhandledRejection', (reason) =>
    log.error({ err: reason }, 'a promise of the agent was rejected'),
  );
  process.on('uncaughtException', (error) =>
    log.error({ err: error }, 'an error of the agent was not caught'),
  );
  if (options.json) globalThis.console = new Console(process.stderr, process.stderr);
  let environment: AgentEnvironment;
  let server: AgentServer;
  try {
    environment = readAgentEnvironment(dir);
    process.chdir(dir);
    server = await startAgentServer({
      ...environment.serverOptions,
      agentDir: dir,
      port: options.port,
      log,
      ...(options.host !== undefined && { host: options.host }),
      ...(options.config !== undefined && {
        graphConfigPath: isAbsolute(options.config) ? options.config : join(dir, options.config),
      }),
    });
  } catch (error) {
    process.stderr.write(`${tell(error)}\n`, () => exit(error instanceof SlipwayError ? error.exitCode : 1));
    return;
  }
  const { exitWithParent, drainMs, stallMs } = environment;
  // At a breakpoint the loop stands still for as long as somebody thinks.
  if (stallMs > 0 && debuggerUrl() === undefined) await watchEventLoop(stallMs);
  const ended = untilAskedToEnd(exitWithParent, exit);
  const ready = options.json
    ? JSON.stringify({ event: 'ready', url: server.url })
    : `Serving ${dir} at ${server.url}`;
  process.stdout.write(`${ready}\n`);
  const reason = await ended;
  // The agent's own timers and sockets may still be open: they have nothing left to serve.
  exit((await shutDown(server, reason === 'signal' ? drainMs : 0, log)) ? 0 : 1);
}

/** Drains and closes. A database that died with the platform keeps nobody: there is a limit. */
async function shutDown(server: AgentServer, drainMs: number, log: Logger): Promise<boolean> {
  const closed = (async () => {
    await server.drain(drainMs);
    await server.close();
    return true;
  })().catch((error: unknown) => {
    log.error({ err: error }, 'the agent server could not be closed in order');
    return false;
  });
  return Promise.race([closed, delay(drainMs + CLOSE_MS, false)]);
}

/** Resolves when the process is to end. A parent that is gone has nobody waiting for runs: no patience then. */
function untilAskedToEnd(
  exitWithParent: boolean,
  exit: (code: number) => never,
): Promise<'signal' | 'parent'> {
  return new Promise((resolve) => {
    const onSignal = () => {
      process.once('SIGTERM', () => exit(1));
      process.once('SIGINT', () => exit(1));
      resolve('signal');
    };
    process.once('SIGTERM', onSignal);
    process.once('SIGINT', onSignal);
    if (!exitWithParent) return;
    const gone = () => resolve('parent');
    process.stdin.once('end', gone);
    process.stdin.once('error', gone);
    process.stdin.once('close', gone);
    process.stdin.resume();
  });
}

/** One line: code, what happened, and what to do. */
function tell(error: unknown): string {
  if (!(error instanceof SlipwayError))
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  return error.hint === undefined
    ? `${error.code}: ${error.message}`
    : `${error.code}: ${error.message} ${error.hint}`;
}
