import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { agentCommand } from '../../src/runtime/agentCommand.ts';
import { type AgentProcess, startAgent } from '../../src/runtime/agentProcess.ts';
import { AgentStartError } from '../../src/runtime/agentStart.ts';
import { isRunning, until, untilEnded } from './liveness.ts';
import { FROM_SOURCE } from '../../../../test/support/fromSource.ts';
import { useFolder } from '../../../../test/support/temporaryFolder.ts';

const FIXTURE = fileURLToPath(new URL('fixtures/agent.mjs', import.meta.url));
const PARENT = fileURLToPath(new URL('fixtures/parent.ts', import.meta.url));

const agentDir = useFolder();
let log: string[];
const agents: AgentProcess[] = [];

afterEach(async () => {
  for (const agent of agents.splice(0)) {
    agent.kill();
    await agent.exited;
  }
});

async function start(
  mode: string,
  options: { env?: Record<string, string>; readyTimeoutMs?: number; signal?: AbortSignal } = {},
  lines: string[] = [],
): Promise<AgentProcess> {
  log = lines;
  const agent = await startAgent({
    agentDir,
    graphConfigPath: 'graph.json',
    env: { MODE: mode, ...options.env },
    log: (line) => void lines.push(line),
    signal: options.signal ?? new AbortController().signal,
    readyTimeoutMs: options.readyTimeoutMs ?? 20_000,
    command: [process.execPath, FIXTURE],
  });
  agents.push(agent);
  return agent;
}

async function orphanPid(lines = log): Promise<number> {
  const said = () => lines.find((line) => line.startsWith('orphan '));
  await until('the pid of the orphan', () => said() !== undefined);
  return Number(said()!.slice('orphan '.length));
}

async function failureOf(starting: Promise<AgentProcess>): Promise<AgentStartError> {
  const error: unknown = await starting.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AgentStartError);
  return error as AgentStartError;
}

describe('an agent that comes up', () => {
  it('answers at the address it printed, in its directory, with its own variables and no secret of others', async () => {
    vi.stubEnv('PLATFORM_MASTER_KEY', 'master-of-all');
    const own = { MODEL_KEY: 'sk-123456', HOME: '/home/of-the-agent', LANG: 'C.UTF-8' };
    const agent = await start('good', { env: own });
    vi.unstubAllEnvs();
    expect(await (await fetch(`${agent.url}/cwd`)).text()).toBe(agentDir);
    expect(agent.pid).not.toBe(process.pid);
    const env = (await (await fetch(`${agent.url}/env`)).json()) as Record<string, string>;
    expect(env).toMatchObject(own);
    expect(Object.values(env)).not.toContain('master-of-all');
    // Its output is logged with masked secrets, and without the ready line.
    await until('the line after the ready line', () => log.length > 0);
    expect(log).toEqual(['using ***']);
  });

  it('finishes what it is at when drained, and then is gone', async () => {
    const agent = await start('good');
    const env = (await (await fetch(`${agent.url}/env`)).json()) as Record<string, string>;
    expect(env).toMatchObject({ HOME: process.env['HOME'] });
    const answer = fetch(`${agent.url}/slow`, { headers: { connection: 'close' } });
    // The agent handles requests in order, so it has the request once the next one is answered.
    await fetch(`${agent.url}/ok`, { headers: { connection: 'close' } });
    const drained = agent.drain(10_000);
    expect(await (await answer).text()).toBe('slow');
    await drained;
    expect(await agent.exited).toEqual({ code: 0, signal: null });
    expect(isRunning(agent.pid)).toBe(false);
    expect(log).toContain('finishing');
  });

  it('is killed when draining takes too long', async () => {
    const agent = await start('stubborn');
    await agent.drain(50);
    expect(await agent.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('takes the processes that it started along', async () => {
    const agent = await start('good', { env: { ORPHAN: 'yes' } });
    const orphan = await orphanPid();
    expect(isRunning(orphan)).toBe(true);
    await agent.drain(5_000);
    await untilEnded(orphan);
  });

  it('ends with the process that started it, even when that one is killed and it is too busy to notice', async () => {
    const parent = spawn(process.execPath, [...FROM_SOURCE, PARENT, FIXTURE], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pids = JSON.parse(line.toString()) as number[];
    expect(pids.map(isRunning)).toEqual([true, true]);
    parent.kill('SIGKILL');
    await until('the end of both agents', () => !pids.some(isRunning));
  });
});

describe('an agent that does not come up', () => {
  it('is reported with its exit code and its last lines, secrets masked, when it crashes', async () => {
    const error = await failureOf(start('crash', { env: { MODEL_KEY: 'sk-123456' } }));
    expect(error.code).toBe('SLIPWAY_AGENT_START_FAILED');
    expect(error.failure).toEqual({ kind: 'exited', code: 7, signal: null });
    expect(error.lastLines).toEqual(['loading the graph', 'cannot use the key ***']);
    expect(error.message).toContain('exit code 7');
    expect(error.message).toContain('cannot use the key ***');
  });

  it('is reported with how far it came, and killed, when it never gets ready', async () => {
    const cases = [
      ['silent', 'it printed no ready line'],
      ['unhealthy', 'GET /ok answered 503'],
      ['elsewhere', 'GET /ok got no answer'],
    ] as const;
    await Promise.all(
      cases.map(async ([mode, seen]) => {
        const lines: string[] = [];
        const error = await failureOf(start(mode, { readyTimeoutMs: 3_000, env: { ORPHAN: 'yes' } }, lines));
        expect(error.failure).toMatchObject({ kind: 'not_ready', afterMs: 3_000 });
        expect(error.message).toContain('not ready within 3 s');
        expect(error.message).toContain(seen);
        await untilEnded(await orphanPid(lines));
      }),
    );
  });

  it('is killed when its start is canceled', async () => {
    const controller = new AbortController();
    const failure = failureOf(start('unhealthy', { signal: controller.signal, env: { ORPHAN: 'yes' } }));
    const orphan = await orphanPid();
    controller.abort();
    expect((await failure).failure).toEqual({ kind: 'aborted' });
    await untilEnded(orphan);
  });

  it('is not even started if its start was canceled before', async () => {
    const error = await failureOf(start('good', { signal: AbortSignal.abort() }));
    expect(error.failure).toEqual({ kind: 'aborted' });
  });

  it.each([
    [
      'its directory is not there',
      '/nowhere',
      process.execPath,
      'not_runnable',
      'the directory /nowhere does not exist',
    ],
    ['its program is not there', tmpdir(), '/nowhere/program', 'exited', '/nowhere/program: not found'],
  ])('is reported when %s', async (_, directory, program, kind, told) => {
    const error = await failureOf(
      startAgent({
        agentDir: directory,
        graphConfigPath: 'graph.json',
        env: {},
        log: () => undefined,
        signal: new AbortController().signal,
        readyTimeoutMs: 5_000,
        command: [program],
      }),
    );
    expect(error.failure.kind).toBe(kind);
    expect(error.message).toContain(told);
  });
});

describe('the command that is started', () => {
  it('is this package’s own, run by this Node', () => {
    const [program, main, ...args] = agentCommand('/srv/agent', 'other.json');
    expect(program).toBe(process.execPath);
    expect(main).toBe(fileURLToPath(new URL('../../dist/bundle/agentMain.js', import.meta.url)));
    expect(args).toEqual(['/srv/agent', '--config', 'other.json']);
  });
});
