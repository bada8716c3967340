import { QUICK_START } from '../../support/quickStart.ts';
import { Process } from '../processes.ts';
import { eventually } from '../stack.ts';

/** How long Temporal may be away. */
const PATIENCE_MS = 300_000;

/** Workers of one version of Slipway, each in its own process. */
export class Fleet {
  kills = 0;
  readonly #bin: string;
  readonly #env: Record<string, string>;
  readonly #running: Process[] = [];

  /** @param bin - the version's `bin/slipway.js`. */
  constructor(bin: string, env: Record<string, string>) {
    this.#bin = bin;
    this.#env = env;
  }

  get size(): number {
    return this.#running.length;
  }

  /** Starts workers, one after the other. */
  async start(count: number): Promise<void> {
    for (let index = 0; index < count; index++) this.#running.push(await this.#startOne());
  }

  /** Kills one worker with `kill -9`, and starts another one. Waits until it polls. */
  async killOne(): Promise<void> {
    const [worker] = this.#running.splice(Math.floor(Math.random() * this.#running.length), 1);
    if (worker === undefined) return;
    worker.assertAlive();
    await worker.kill();
    this.kills++;
    this.#running.push(await this.#startOne());
  }

  async ran(...args: string[]): Promise<{ code: number | null; text: string }> {
    const command = this.#process(args);
    const code = await command.exited;
    return { code, text: command.stdout + command.stderr };
  }

  /** Ends all workers as an upgrade does. @throws Error if one does not end with 0. */
  async retire(): Promise<void> {
    const codes = await Promise.all(this.#running.splice(0).map((worker) => worker.stop()));
    if (codes.some((code) => code !== 0)) throw new Error(`workers ended with ${codes.join(', ')}`);
  }

  async kill(): Promise<void> {
    await Promise.all(this.#running.splice(0).map((worker) => worker.kill()));
  }

  /** A worker ends if Temporal is away when it starts. Then another one is started, as a supervisor does. */
  #startOne(): Promise<Process> {
    return eventually(async () => {
      const worker = this.#process(['worker', '--json']);
      await worker.ready();
      return worker;
    }, PATIENCE_MS);
  }

  #process(args: readonly string[]): Process {
    return new Process(process.execPath, [...QUICK_START, this.#bin, ...args], { env: this.#env });
  }
}
