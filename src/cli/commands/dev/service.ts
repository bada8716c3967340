import { type ChildProcess, spawn } from 'node:child_process';
import { open, readFile, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { CodedError } from '@slipway/contract/codedError';

import { SlipwayError } from '../../../domain/errors.ts';
import { isRecord } from '../../../domain/scalars.ts';
import { jsonLines } from '../../../judge/jsonLines.ts';
import { pause } from '../../../temporal/client/pause.ts';
import { untilAborted } from '../../interruption.ts';

/** A process that runs until it is stopped, or ends unexpectedly. */
export interface Service {
  readonly exited: Promise<void>;
  stop(): Promise<void>;
}

/** A `slipway` command in a separate process, which ends when this process ends, even if this one is killed. */
export interface CommandService extends Service {
  readonly ready: Readonly<Record<string, unknown>>;
}

interface CommandServiceOptions {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Its stderr is appended to this file. */
  readonly logFile: string;
  /** The longest time until it is ready, in milliseconds. */
  readonly readyTimeoutMs: number;
  /** How long it may take to stop after SIGTERM, in milliseconds. Then it is killed. */
  readonly stopTimeoutMs: number;
  readonly signal?: AbortSignal;
}

const BIN = fileURLToPath(new URL('../../../../bin/slipway.js', import.meta.url));
const LOG_TAIL_LINES = 12;

/**
 * Starts a `slipway` command as a service and waits for its ready line.
 * @throws CodedError the command's own error if it prints one; else SLIPWAY_INTERNAL with the end of its log.
 */
export async function startCommand(options: CommandServiceOptions): Promise<CommandService> {
  options.signal?.throwIfAborted();
  const log = await open(options.logFile, 'a', 0o600);
  const logStart = (await stat(options.logFile)).size;
  let child: ChildProcess;
  try {
    child = spawn(process.execPath, [BIN, ...options.args, '--json'], {
      env: { ...options.environment, SLIPWAY_EXIT_WITH_PARENT: '1' },
      // stderr goes to a file: a pipe would have no reader any more while the command stops.
      stdio: ['pipe', 'pipe', log.fd],
      // In another process group, so that Ctrl-C reaches only this process, which stops its services in order.
      detached: true,
    });
  } finally {
    await log.close();
  }
  const exited = new Promise<void>((resolve) => {
    child.once('close', () => resolve()).once('error', () => resolve());
  });
  const stop = (): Promise<void> => stopChild(child, exited, options.stopTimeoutMs);
  try {
    const ready = await readyLine(child, exited, options, logStart);
    return { ready, exited, stop };
  } catch (error) {
    await stop();
    options.signal?.throwIfAborted();
    throw error;
  }
}

async function readyLine(
  child: ChildProcess,
  exited: Promise<void>,
  { args, logFile, readyTimeoutMs, signal }: CommandServiceOptions,
  logStart: number,
): Promise<Readonly<Record<string, unknown>>> {
  const name = `slipway ${args[0] ?? ''}`;
  return new Promise((resolve, reject) => {
    const failed = (what: string): void => {
      logTail(logFile, logStart).then(
        (tail) => reject(didNotStart(`${name} ${what}`, tail, logFile)),
        (error: unknown) => reject(didNotStart(`${name} ${what}`, '', logFile, error)),
      );
    };
    const timer = setTimeout(
      () => failed(`was not ready within ${readyTimeoutMs / 1_000} s`),
      readyTimeoutMs,
    );
    signal?.addEventListener('abort', () => failed('was stopped'), { once: true });
    let said: CodedError | undefined;
    const read = async (): Promise<void> => {
      for await (const { value } of child.stdout === null ? [] : jsonLines(child.stdout)) {
        if (!isRecord(value)) continue;
        if (value['event'] === 'error') said = errorOf(value);
        if (value['event'] !== 'ready') continue;
        clearTimeout(timer);
        resolve(value);
      }
    };
    read().catch(reject);
    void exited.then(() => {
      clearTimeout(timer);
      if (said === undefined) failed('ended before it was ready');
      else reject(said);
    });
  });
}

/** Asks a process to stop. After the timeout, kills it and all processes that it started. */
async function stopChild(child: ChildProcess, exited: Promise<void>, timeoutMs: number): Promise<void> {
  if (child.pid === undefined) return;
  const { pid } = child;
  child.kill('SIGTERM');
  const timer = setTimeout(() => killGroup(pid), timeoutMs);
  await exited;
  clearTimeout(timer);
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function errorOf(event: Readonly<Record<string, unknown>>): CodedError {
  const text = (name: string): string | undefined => {
    const value = event[name];
    return typeof value === 'string' ? value : undefined;
  };
  const place = text('place');
  const hint = text('hint');
  return new CodedError(
    text('code') ?? 'SLIPWAY_INTERNAL',
    Number(event['exitCode'] ?? 3),
    text('message') ?? 'it printed no message',
    { place, hint },
  );
}

async function logTail(file: string, from: number): Promise<string> {
  const text = (await readFile(file)).subarray(from).toString('utf8').trimEnd();
  return text.split('\n').slice(-LOG_TAIL_LINES).join('\n');
}

function didNotStart(what: string, tail: string, logFile: string, cause?: unknown): SlipwayError {
  return new SlipwayError('SLIPWAY_INTERNAL', tail === '' ? what : `${what}; the end of its log:\n${tail}`, {
    place: logFile,
    cause,
  });
}

export type SupervisorEvent =
  | { readonly what: 'died'; readonly name: string; readonly restartInMs: number }
  | { readonly what: 'restarted'; readonly name: string }
  | { readonly what: 'not_restarted'; readonly name: string; readonly error: unknown };

interface SupervisorOptions<S extends Service> {
  readonly name: string;
  readonly start: () => Promise<S>;
  readonly onEvent: (event: SupervisorEvent) => void;
  /** Waits, until the signal is aborted at the latest. Default: real time. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Default: `Date.now`. */
  readonly now?: () => number;
}

/** A service that is restarted if it ends unexpectedly. */
export interface Supervised<S extends Service> {
  readonly first: S;
  stop(): Promise<void>;
}

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 15_000;
/** If a service ran at least this long, its next restart waits only the first delay. */
const STABLE_AFTER_MS = 30_000;

/**
 * Starts a service, and restarts it whenever it ends: after half a second, then twice as long each time, 15 s at most.
 * @throws the error of the first start. Later starts are repeated.
 */
export async function supervise<S extends Service>(options: SupervisorOptions<S>): Promise<Supervised<S>> {
  const { name, start, onEvent, wait = pause, now = Date.now } = options;
  const stopping = new AbortController();
  const isStopping = (): boolean => stopping.signal.aborted;
  const first = await start();

  const keepRunning = async (): Promise<void> => {
    let service: S | undefined = first;
    let startedAt = now();
    let delayMs = FIRST_DELAY_MS;
    for (;;) {
      if (service !== undefined) {
        await Promise.race([service.exited, untilAborted(stopping.signal)]);
        if (isStopping()) return service.stop();
        if (now() - startedAt >= STABLE_AFTER_MS) delayMs = FIRST_DELAY_MS;
        onEvent({ what: 'died', name, restartInMs: delayMs });
      }
      await wait(delayMs, stopping.signal);
      if (isStopping()) return;
      delayMs = Math.min(2 * delayMs, LONGEST_DELAY_MS);
      startedAt = now();
      try {
        service = await start();
        onEvent({ what: 'restarted', name });
      } catch (error) {
        service = undefined;
        if (isStopping()) return;
        onEvent({ what: 'not_restarted', name, error });
      }
    }
  };
  const running = keepRunning();
  return {
    first,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
