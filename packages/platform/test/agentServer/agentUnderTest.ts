import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect } from 'vitest';

import { BUILT_COMMAND } from '../../../../test/support/builtCommand.ts';
import { FROM_SOURCE } from '../../../../test/support/fromSource.ts';
import { lineProblem } from '../../../../test/support/jsonLines.ts';
import { prepareHome } from '../../../../test/support/preparedHome.ts';
import { QUICK_START } from '../../../../test/support/quickStart.ts';
import { useFolder } from '../../../../test/support/temporaryFolder.ts';
import { apiOf } from './runApiUnderTest.ts';

export {
  apiOf,
  collectEvents,
  echo,
  gate,
  odd,
  type ReadEvent,
  readEvents,
  runOf,
  steps,
  until,
} from './runApiUnderTest.ts';

export const FIXTURE_AGENT = fileURLToPath(new URL('fixtures/agent', import.meta.url));

const AGENT = ['agent', '--json', '--port'];
/** `slipway agent`, without its port and folder. */
const AGENT_COMMAND: readonly string[] =
  BUILT_COMMAND === undefined
    ? [...FROM_SOURCE, fileURLToPath(new URL('../../../../src/cli/main.ts', import.meta.url)), ...AGENT]
    : [BUILT_COMMAND, ...AGENT];

/** Includes compiling and opening a database on a busy machine. */
const START_TIMEOUT_MS = 180_000;

export type AgentUnderTest = Awaited<ReturnType<typeof startAgentUnderTest>>;

interface AgentOptions {
  /** Default: {@link FIXTURE_AGENT}. */
  dir?: string;
  env?: Record<string, string>;
  /** Default: a free one. */
  port?: number;
  more?: readonly string[];
}

/** Starts an agent's process. `ready` resolves with its address, or rejects if it ends first. */
export function launchAgent({ dir = FIXTURE_AGENT, env, port = 0, more = [] }: AgentOptions) {
  const child = spawn(process.execPath, [...QUICK_START, ...AGENT_COMMAND, String(port), dir, ...more], {
    env: { ...process.env, SLIPWAY_LOG_LEVEL: 'info', SLIPWAY_EXIT_WITH_PARENT: '1', ...env },
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
      if (!line.includes('"event":"ready"')) return;
      const said = JSON.parse(line) as { url: string };
      const problem = lineProblem(said);
      if (problem === undefined) resolve(said.url);
      else reject(new Error(problem));
    });
    void exited.then(({ code }) => reject(new Error(`The agent ended with ${String(code)}:\n${stderr}`)));
  });
  ready.catch(() => undefined);
  return { child, ready, exited, stderr: () => stderr, stdout: () => stdout };
}

export async function startAgentUnderTest(options: AgentOptions) {
  const launched = launchAgent(options);
  return { ...launched, url: await launched.ready };
}

/** One standalone agent server for all tests of a file, which must exit in order. Use `agent` only while they run. */
export function useAgent(env: Record<string, string> = {}) {
  const home = useFolder();
  let started: AgentUnderTest | undefined;
  const agent = (): AgentUnderTest => {
    if (started === undefined) throw new Error('The agent is not started yet.');
    return started;
  };
  beforeAll(async () => {
    await prepareHome(join(home, 'agent'));
    started = await startAgentUnderTest({
      env: {
        SLIPWAY_HOME: home,
        SLIPWAY_AGENT_REVISION_ID: 'revision-1',
        SLIPWAY_AGENT_WEBHOOK_ALLOW: '127.0.0.1',
        ...env,
      },
    });
  }, START_TIMEOUT_MS);
  afterAll(() => endInOrder(agent()));
  return { agent, api: apiOf(() => agent().url) };
}

/** Ends an agent as the platform does, and expects exit code 0. */
export async function endInOrder({ child, exited }: AgentUnderTest): Promise<void> {
  child.kill('SIGTERM');
  expect(await exited).toEqual({ code: 0, signal: null });
}
