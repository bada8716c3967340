/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-return -- answers are judged by what the tests expect of them */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { createParser } from 'eventsource-parser';
import { afterAll, beforeAll, expect } from 'vitest';

export const FIXTURE_AGENT = fileURLToPath(new URL('fixtures/agent', import.meta.url));
const RUNNER = fileURLToPath(new URL('runAgent.ts', import.meta.url));
const TSX = import.meta.resolve('tsx');

/** Compiling and opening a database on a busy machine. */
const START_TIMEOUT_MS = 180_000;

/** An agent server as a process of its own. */
export interface AgentUnderTest {
  readonly url: string;
  readonly child: ChildProcess;
  readonly stderr: () => string;
  readonly stdout: () => string;
  readonly exited: Promise<{ code: number | null; signal: string | null }>;
}

export interface Launched extends Omit<AgentUnderTest, 'url'> {
  /** Resolves with the address of the ready line; rejects when the process ends before. */
  readonly ready: Promise<string>;
}

/** Starts an agent's process without waiting for it. */
export function launchAgent(options: { dir: string; env?: Record<string, string> }): Launched {
  const child = spawn(process.execPath, ['--import', TSX, RUNNER, options.dir], {
    env: { ...process.env, SLIPWAY_LOG_LEVEL: 'info', SLIPWAY_EXIT_WITH_PARENT: '1', ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stderr = '';
  let stdout = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const ready = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      stdout += `${line}\n`;
      if (line.includes('"event":"ready"')) resolve((JSON.parse(line) as { url: string }).url);
    });
    void exited.then(({ code }) => reject(new Error(`The agent ended with ${String(code)}:\n${stderr}`)));
  });
  ready.catch(() => undefined);
  return { child, ready, exited, stderr: () => stderr, stdout: () => stdout };
}

export async function startAgentUnderTest(options: {
  dir?: string;
  env: Record<string, string>;
}): Promise<AgentUnderTest> {
  const launched = launchAgent({ dir: options.dir ?? FIXTURE_AGENT, env: options.env });
  return { ...launched, url: await launched.ready };
}

/**
 * One agent server for all tests of a file, standing alone with an embedded database. It has to end in order. `agent`
 * is there once the tests run.
 */
export function useAgent() {
  let home = '';
  let started: AgentUnderTest | undefined;
  const agent = (): AgentUnderTest => {
    if (started === undefined) throw new Error('The agent is not started yet.');
    return started;
  };
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'slipway-agent-'));
    started = await startAgentUnderTest({
      env: {
        SLIPWAY_HOME: home,
        SLIPWAY_AGENT_REVISION_ID: 'revision-1',
        SLIPWAY_AGENT_WEBHOOK_ALLOW: '127.0.0.1',
      },
    });
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    agent().child.kill('SIGTERM');
    expect(await agent().exited).toEqual({ code: 0, signal: null });
    await rm(home, { recursive: true, force: true });
  });
  return { agent, api: apiOf(() => agent().url) };
}

/** A gate for the fixture's waiting node: give its path as `text`, and open it when the run is to go on. */
export function gate(): { path: string; open: () => Promise<void> } {
  const path = join(tmpdir(), `slipway-gate-${crypto.randomUUID()}`);
  return { path, open: () => writeFile(path, '') };
}

/** One event of a stream, parsed. */
export interface ReadEvent {
  readonly event: string;
  readonly data: any;
  readonly id: string | undefined;
}

/** The events of a server-sent event stream, as they come. Comments come as `event: ':'`. */
export async function* readEvents(response: Response): AsyncGenerator<ReadEvent> {
  const queue: ReadEvent[] = [];
  const parser = createParser({
    onEvent: ({ event, data, id }) => queue.push({ event: event ?? '', data: JSON.parse(data), id }),
    onComment: (comment) => queue.push({ event: ':', data: comment, id: undefined }),
  });
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* queue.splice(0);
  }
}

export async function collectEvents(response: Response): Promise<ReadEvent[]> {
  const events: ReadEvent[] = [];
  for await (const event of readEvents(response)) events.push(event);
  return events;
}

/** Waits until a condition holds, looking every 20 ms; fails after `withinMs`. */
export async function until<T>(
  look: () => Promise<T | undefined | false>,
  what: string,
  withinMs = 10_000,
): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (Date.now() > deadline)
      throw new Error(`It did not come about within ${withinMs / 1_000} s that ${what}.`);
    await delay(20);
  }
}

/** A small client of the Run API: statuses and bodies as they are. */
export function apiOf(url: string | (() => string), headers: Record<string, string> = {}) {
  const send = (method: string, path: string, body?: unknown, options: RequestInit = {}) =>
    fetch(`${typeof url === 'string' ? url : url()}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...options,
    });
  const json = async (method: string, path: string, body?: unknown): Promise<any> => {
    const response = await send(method, path, body);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  return {
    send,
    json,
    thread: async (): Promise<string> =>
      ((await json('POST', '/threads', {})) as { thread_id: string }).thread_id,
    /** Waits until a run has the status. */
    untilStatus: (threadId: string, runId: string, status: string) =>
      until(async () => {
        const run = await json('GET', `/threads/${threadId}/runs/${runId}`);
        return run.status === status && run;
      }, `run ${runId} is ${status}`),
    /** Waits until the graph has completed a step of that number of log entries. */
    untilLogged: (threadId: string, entries: number) =>
      until(async () => {
        const state = await json('GET', `/threads/${threadId}/state`);
        return (state.values.log?.length ?? 0) >= entries && state;
      }, `thread ${threadId} has ${entries} log entries`),
  };
}
