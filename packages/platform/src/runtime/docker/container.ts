import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  type AgentExit,
  type AgentStart,
  limitStart,
  probeUntilOk,
  type RunningAgent,
} from '../agentStart.ts';
import { followOutput, lastLinesText } from '../outputLines.ts';
import { createSecretMask } from '../secretMask.ts';
import { type Docker, removeContainers } from './dockerCommand.ts';

/** The delay before an unanswered query about a container is repeated, in ms. */
const ASK_AGAIN_MS = 1_000;

/** A container that runs or starts. */
export class Container {
  readonly #docker: Docker;
  readonly #name: string;
  readonly #options: AgentStart;
  #removed: Promise<void> | undefined;
  #onRemoved: () => void = () => undefined;
  readonly removed = new Promise<void>((resolve) => (this.#onRemoved = resolve));

  constructor(docker: Docker, name: string, options: AgentStart) {
    this.#docker = docker;
    this.#name = name;
    this.#options = options;
  }

  /** Follows the container, and waits until it answers. */
  async answersAt(url: string): Promise<RunningAgent> {
    const { env, log, signal, readyTimeoutMs } = this.#options;
    const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
    const output = followOutput(streams, Object.values(env), log);
    const following = this.#follow(streams.stdout);
    const exited = this.exit();

    let seen = 'nothing answered';
    const start = limitStart(signal, readyTimeoutMs, () => seen);
    // Wait for its last output, which shows why it ended.
    void exited.then(async (exit) => {
      await Promise.race([following, sleep(ASK_AGAIN_MS)]);
      start.fail({ kind: 'exited', ...exit });
    });
    try {
      await probeUntilOk(url, (answer) => (seen = answer), start.signal);
      return this.#running(url, exited, following);
    } catch (error) {
      throw start.errorOf(error, output.lastLines());
    } finally {
      start.release();
    }
  }

  /** Explains a missing port: a container that has already ended publishes none, so its last lines are included. */
  async whyNoPort(said: string): Promise<string> {
    const { stdout, stderr } = await this.#docker({ args: ['logs', '--tail', '20', this.#name] });
    const mask = createSecretMask(Object.values(this.#options.env));
    const last = lastLinesText([...stdout, ...stderr].map((line) => mask(line)));
    return `The container publishes no port (${said}).${last}`;
  }

  /** Removes the container, running or not. Further calls share the first result. */
  remove(): Promise<void> {
    this.#removed ??= removeContainers(this.#docker, [this.#name]).then(() => this.#onRemoved());
    return this.#removed;
  }

  #running(url: string, exited: Promise<AgentExit>, following: Promise<void>): RunningAgent {
    // Not before its last lines have been read.
    const removeRead = async (): Promise<void> => {
      await Promise.race([following, sleep(ASK_AGAIN_MS)]);
      await this.remove();
    };
    void exited.then(removeRead);
    return {
      url,
      exited,
      kill: () => void this.remove(),
      drain: async (timeoutMs) => {
        const seconds = String(Math.ceil(timeoutMs / 1000));
        await this.#docker({ args: ['stop', '-t', seconds, this.#name], timeoutMs: timeoutMs + 60_000 });
        await removeRead();
      },
    };
  }

  /** Passes on the container's output while it runs. */
  async #follow(to: PassThrough): Promise<void> {
    await this.#docker({
      args: ['logs', '--follow', this.#name],
      timeoutMs: Infinity,
      // Mark a cut line as cut, because the mask depends on it.
      onLine: (line, cut) => void to.write(`${line}${cut ? ' …' : ''}\n`),
    });
    to.end();
  }

  /** Waits for the end of the container, even if the engine restarts. */
  async exit(): Promise<AgentExit> {
    for (;;) {
      const { code, stdout } = await this.#docker({ args: ['wait', this.#name], timeoutMs: Infinity });
      const status = Number(stdout.at(-1));
      if (code === 0 && Number.isInteger(status)) return { code: status, signal: null };
      if (this.#removed !== undefined) return { code: null, signal: 'SIGKILL' };
      const { stderr } = await this.#docker({
        args: ['inspect', '--format', '{{.State.Status}}', this.#name],
      });
      if (stderr.some((line) => /no such (object|container)/i.test(line)))
        return { code: null, signal: null };
      await sleep(ASK_AGAIN_MS, undefined, { ref: false });
    }
  }
}
