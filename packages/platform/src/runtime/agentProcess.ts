import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

import {
  type AgentExit,
  type AgentStart,
  AgentStartError,
  HAND_OVER_MS,
  limitStart,
  probeUntilOk,
  type RunningAgent,
} from './agentStart.ts';
import { agentCommand } from './agentCommand.ts';
import { agentBaseEnvironment, packEnvironment } from './childEnvironment.ts';
import { followOutput, waitForOutputEnd } from './outputLines.ts';
import { killGroup, spawnGroup } from './command.ts';

/** Variables that logs show: facts about the agent, and everyday values whose masking would hide too much. */
const NOT_SECRET = new Set([
  'SLIPWAY_AGENT_TRACING_URL',
  'SLIPWAY_AGENT_DEPLOYMENT_ID',
  'SLIPWAY_AGENT_REVISION_ID',
  'SLIPWAY_AGENT_PROJECT_NAME',
  'SLIPWAY_LOG_LEVEL',
  'LOG_LEVEL',
  'NODE_ENV',
  'LANG',
  'TZ',
]);

/** How long an agent may run after the platform has ended, in seconds. */
const OUTLIVE_SECONDS = 3;

/** Options of {@link startAgent}. Variables are added to the machine's own (`agentBaseEnvironment`). */
export interface StartAgentOptions extends AgentStart {
  /** The directory from the build: the agent's working directory. */
  readonly agentDir: string;
  /** The graph configuration file, relative to `agentDir`. */
  readonly graphConfigPath: string;
  /** Program and arguments. Default: {@link agentCommand}. */
  readonly command?: readonly [string, ...string[]];
}

export interface AgentProcess extends RunningAgent {
  /** The process's id, which is also its process group's. */
  readonly pid: number;
}

/**
 * Starts a built agent as a process in its own process group, and waits until it answers.
 *
 * The process ends with this one, even if this one is killed: this one holds the other end of its stdin, and the
 * agent's command ends when that closes. If it is too busy to notice, it is killed some seconds later.
 * @throws AgentStartError if it cannot be run, ends before it is ready, is not ready in time, or is canceled. Nothing
 * of it keeps running.
 */
export async function startAgent(options: StartAgentOptions): Promise<AgentProcess> {
  if (options.signal.aborted) throw new AgentStartError({ kind: 'aborted' }, []);
  const agentDir = resolve(options.agentDir);
  const child = spawnGroup(options.command ?? agentCommand(agentDir, options.graphConfigPath), {
    cwd: agentDir,
    env: packEnvironment({ ...agentBaseEnvironment(), ...options.env }),
    // Closes when this process ends, which ends the agent's command.
    stdin: 'pipe',
    outliveSeconds: OUTLIVE_SECONDS,
  });
  const output = followOutput(child, secretsIn(options.env), options.log);
  const exited = exitOf(child);

  let seen = 'it printed no ready line';
  const start = limitStart(options.signal, options.readyTimeoutMs, () => seen);
  child.once('error', ({ code, message }: NodeJS.ErrnoException) => {
    // The shell is spawned, and exists, so the directory is missing.
    const cause = code === 'ENOENT' ? `the directory ${options.agentDir} does not exist` : message;
    start.fail({ kind: 'not_runnable', cause });
  });
  child.once('exit', (code, signal) => start.fail({ kind: 'exited', code, signal }));
  try {
    const url = await Promise.race([output.ready, once(start.signal, 'abort')]);
    if (typeof url !== 'string') throw start.signal.reason;
    seen = `it reported that it is ready at ${url}, but nothing answered there`;
    await probeUntilOk(url, (answer) => (seen = answer), start.signal);
    return runningAgent(url, child, exited);
  } catch (error) {
    if (child.pid !== undefined) {
      killGroup(child.pid);
      await exited;
      await waitForOutputEnd([child.stdout, child.stderr]);
    }
    throw start.errorOf(error, output.lastLines());
  } finally {
    start.release();
  }
}

function runningAgent(url: string, child: ChildProcess, exited: Promise<AgentExit>): AgentProcess {
  const { pid } = child;
  if (pid === undefined) throw new Error('An agent that answers has a pid.');
  let ended = false;
  // Kill what the agent started and did not end.
  const gone = exited.then(() => {
    ended = true;
    killGroup(pid);
  });
  // After the process has ended, its id may belong to another one, so send no more signals.
  const kill = () => {
    if (!ended) killGroup(pid);
  };
  return {
    url,
    pid,
    exited,
    kill,
    drain: async (timeoutMs) => {
      if (!ended) child.kill('SIGTERM');
      // Without a parent the agent stops waiting, whatever its own setting, and hands over its runs.
      const handOver = setTimeout(() => child.stdin?.end(), Math.max(0, timeoutMs - HAND_OVER_MS));
      const limit = setTimeout(kill, timeoutMs);
      await gone;
      clearTimeout(handOver);
      clearTimeout(limit);
    },
  };
}

function exitOf(child: ChildProcess): Promise<AgentExit> {
  return new Promise((done) => {
    child.once('exit', (code, signal) => done({ code, signal }));
    // A program that could not be started does not exit.
    child.once('error', () => {
      if (child.pid === undefined) done({ code: null, signal: null });
    });
  });
}

function secretsIn(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env)
    .filter(([name]) => !NOT_SECRET.has(name))
    .map(([, value]) => value);
}
