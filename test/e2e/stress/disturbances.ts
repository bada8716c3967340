import { createWriteStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { runningPinned } from '../../../src/temporal/versions/runningWork.ts';
import { describeRouting } from '../../../src/temporal/versions/routing.ts';
import type { TemporalConnection } from '../../../src/temporal/client/connection.ts';
import type { RealPostgres } from '../../support/realPostgres.ts';
import { eventually, type Stack } from '../stack.ts';
import { installVariant } from '../variantInstallation.ts';
import { Fleet } from './fleet.ts';

/** What is disturbed, and how far the run is. */
export interface Disturbed {
  readonly stack: Stack;
  readonly postgres: RealPostgres;
  readonly temporal: TemporalConnection;
  /** The fraction of the releases that have ended. */
  readonly progress: () => number;
  readonly onProgress: (line: string) => void;
}

/** How long a server stays away, in milliseconds. */
const AWAY_MS = 3_000;
const FLEET = 3;
/** How long the overloaded servers may take to accept a rollout, or to finish what is pinned to the old version. */
const PATIENCE_MS = 900_000;
const BIN = fileURLToPath(new URL('../../../bin/slipway.js', import.meta.url));

/** The next version of the workers: its releases' results have a field more. */
const NEXT_VERSION = [
  {
    from: 'function endWorkflow(result) {',
    to: 'function endWorkflow(bare) { const result = { ...bare, addedLater: true };',
  },
];

type Disturbance = 'Temporal' | 'PostgreSQL' | 'upgrade';

/** When each comes: once this fraction of the releases has ended. */
const PLAN: readonly (readonly [from: number, Disturbance])[] = [
  [0.2, 'Temporal'],
  [0.35, 'PostgreSQL'],
  [0.5, 'upgrade'],
  [0.65, 'Temporal'],
  [0.8, 'PostgreSQL'],
];

/**
 * Kills one of three workers after the other, at random. In between it kills Temporal, restarts PostgreSQL, and
 * upgrades the workers: new ones start beside the old, the new version becomes current, and the old workers end once no
 * release is pinned to their version.
 */
export class Disturbances {
  readonly counts: Record<Disturbance, number> = { Temporal: 0, PostgreSQL: 0, upgrade: 0 };
  /** The fleets by age. The last one has the current version. */
  readonly #fleets: Fleet[];
  /** Retired fleets count, too. */
  #retiredKills = 0;
  readonly #on: Disturbed;
  readonly #left = [...PLAN];
  /** The upgrade, which goes on while workers and servers are killed. */
  #upgrading: Promise<void> | undefined;
  #isUpgraded = false;

  private constructor(on: Disturbed, first: Fleet) {
    this.#on = on;
    this.#fleets = [first];
  }

  static async start(on: Disturbed): Promise<Disturbances> {
    const first = new Fleet(BIN, on.stack.env);
    await first.start(FLEET);
    await eventually(async () => {
      if ((await describeRouting(on.temporal))?.current === undefined) throw new Error('no current version');
    });
    return new Disturbances(on, first);
  }

  get kills(): number {
    return this.#fleets.reduce((sum, { kills }) => sum + kills, this.#retiredKills);
  }

  /** Those that have not happened. */
  get left(): readonly string[] {
    return [
      ...this.#left.map(([, what]) => what),
      ...(this.#fleets.length > 1 ? ['the old workers still run'] : []),
    ];
  }

  /**
   * Disturbs until all is over.
   * @param everyMs - the mean time between two disturbances.
   * @throws Error if the platform or a worker has ended by itself.
   */
  async go(everyMs: number, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      this.#on.stack.platform.assertAlive();
      await sleep((0.5 + Math.random()) * everyMs);
      const [next] = this.#left;
      if (next !== undefined && this.#on.progress() >= next[0]) {
        this.#left.shift();
        await this.#disturb(next[1]);
      } else {
        await this.#killWorker();
      }
      await this.#retireDrained();
    }
    await this.#upgrading;
    await eventually(async () => {
      await this.#retireDrained();
      if (this.#fleets.length > 1) throw new Error('the old version is not drained');
    }, PATIENCE_MS);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#fleets.map((fleet) => fleet.kill()));
  }

  /** @throws Error that names a file with where each of Temporal's goroutines is, if no worker can start any more. */
  async #killWorker(): Promise<void> {
    try {
      await this.#fleets[Math.floor(Math.random() * this.#fleets.length)]?.killOne();
    } catch (error) {
      const { child } = this.#on.stack.temporal;
      const goroutines = join(tmpdir(), `temporal-goroutines-${Date.now()}.txt`);
      const written = pipeline(child.stderr!, createWriteStream(goroutines));
      child.kill('SIGQUIT');
      await written;
      throw new Error(`no worker can start; Temporal's goroutines are in ${goroutines}`, { cause: error });
    }
  }

  async #disturb(what: Disturbance): Promise<void> {
    const { stack, postgres, onProgress } = this.#on;
    onProgress(`${what}, after ${this.kills} killed workers`);
    switch (what) {
      case 'Temporal':
        await stack.temporal.kill();
        await sleep(AWAY_MS);
        await stack.startTemporal();
        break;
      case 'PostgreSQL':
        await postgres.restart(() => sleep(AWAY_MS));
        break;
      case 'upgrade':
        this.#upgrading = this.#upgrade();
        return;
    }
    this.counts[what]++;
  }

  async #upgrade(): Promise<void> {
    const { stack } = this.#on;
    const next = new Fleet(await installVariant(join(stack.folder, 'next'), NEXT_VERSION), stack.env);
    this.#fleets.push(next);
    await next.start(FLEET);
    await eventually(async () => {
      const { code, text } = await next.ran('worker', 'rollout', '--current');
      if (code !== 0) throw new Error(`the rollout ended with ${String(code)}: ${text}`);
    }, PATIENCE_MS);
    this.#isUpgraded = true;
    this.counts.upgrade++;
    this.#on.onProgress('the new version is current');
  }

  /** Ends the workers of the older version if no release is pinned to it. */
  async #retireDrained(): Promise<void> {
    const [old] = this.#fleets;
    if (old === undefined || this.#fleets.length === 1 || !this.#isUpgraded) return;
    const { temporal, onProgress } = this.#on;
    const current = (await describeRouting(temporal))?.current;
    if ((await runningPinned(temporal)).some(({ buildId }) => buildId !== current)) return;
    this.#fleets.shift();
    this.#retiredKills += old.kills;
    await old.retire();
    onProgress('the workers of the old version have ended');
  }
}
