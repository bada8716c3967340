import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Client, Connection } from '@temporalio/client';

import { audit } from '../../src/domain/audit/audit.ts';
import type { TargetFacts, Violation } from '../../src/domain/audit/facts.ts';
import { SEARCH_ATTRIBUTES } from '../../src/domain/searchAttributes.ts';
import { CALL_INTERCEPTORS, connectTemporal, createClient } from '../../src/temporal/client/connection.ts';
import { temporalSettings } from '../../src/temporal/client/temporalSettings.ts';
import { fetchAudited } from '../../src/temporal/history/fetchHistories.ts';
import { readTargetFacts } from '../../src/temporal/history/readFacts.ts';
import { installTemporal } from '../../src/temporal/server/installation/installation.ts';
import { prepareHome } from '../support/preparedHome.ts';
import { callByHand } from './callByHand.ts';
import { evidenceOf } from './evidence.ts';
import { type FaultProxy, startFaultProxy } from './faultProxy.ts';
import { Process, slipway } from './processes.ts';
import { openTemporalGate, type TemporalGate } from './temporalGate.ts';

/**
 * Everything that a release needs, as real processes that can be killed one by one: Temporal with its database file,
 * the platform behind a proxy that can misbehave, a worker.
 */
export class Stack {
  readonly folder: string;
  apiKey = '';
  readonly #temporalPath: string;
  readonly #platformEnv: Record<string, string>;
  readonly #gated: boolean;
  readonly #env: Readonly<Record<string, string>>;
  #temporalPort = 0;
  #platformPort = 0;
  #temporal: Process | undefined;
  #platform: Process | undefined;
  #worker: Process | undefined;
  #proxy: FaultProxy | undefined;
  #gate: TemporalGate | undefined;
  #connection: Connection | undefined;

  private constructor(
    folder: string,
    temporalPath: string,
    platformEnv: Record<string, string>,
    gated: boolean,
    env: Readonly<Record<string, string>>,
  ) {
    this.#env = env;
    this.#platformEnv = platformEnv;
    this.#gated = gated;
    this.folder = folder;
    this.#temporalPath = temporalPath;
  }

  /**
   * Starts the whole stack.
   *
   * @param options.gated - whether the worker reaches Temporal through {@link Stack.gate}. Default: not.
   * @param options.env - of everything that is Slipway but the platform, beside {@link Stack.env}'s own.
   */
  static async start(
    platformEnv: Record<string, string> = {},
    { gated = false, env = {} }: { readonly gated?: boolean; readonly env?: Record<string, string> } = {},
  ): Promise<Stack> {
    const { path } = await installTemporal({ onProgress: () => undefined });
    const stack = new Stack(await mkdtemp(join(tmpdir(), 'slipway-e2e-')), path, platformEnv, gated, env);
    try {
      // One after the other: Temporal takes more free ports than the given ones, and must not take one meant for another process.
      stack.#temporalPort = await freePort();
      await stack.startTemporal();
      stack.#platformPort = await freePort();
      await prepareHome(stack.platformHome);
      stack.#proxy = await startFaultProxy(stack.origin);
      if (gated) stack.#gate = await openTemporalGate(`127.0.0.1:${stack.#temporalPort}`);
      await stack.startPlatform();
      await stack.startWorker();
    } catch (error) {
      await stack.stop();
      throw error;
    }
    return stack;
  }

  /** The control plane as Slipway sees it: through the proxy. */
  get controlPlane(): string {
    return this.proxy.url;
  }

  /** The platform itself, past the proxy. */
  get origin(): string {
    return `http://127.0.0.1:${this.#platformPort}`;
  }

  get proxy(): FaultProxy {
    return required(this.#proxy);
  }

  /** What stands between the worker and Temporal, where the stack was started so. */
  get gate(): TemporalGate {
    return required(this.#gate);
  }

  /** Where the platform keeps what it has. */
  get platformHome(): string {
    return join(this.folder, 'platform');
  }

  get worker(): Process {
    return required(this.#worker);
  }

  get platform(): Process {
    return required(this.#platform);
  }

  get temporal(): Process {
    return required(this.#temporal);
  }

  /** The environment of everything that is Slipway. */
  get env(): Record<string, string> {
    return {
      SLIPWAY_HOME: join(this.folder, 'home'),
      SLIPWAY_API_KEY: this.apiKey,
      TEMPORAL_ADDRESS: `127.0.0.1:${this.#temporalPort}`,
      NO_COLOR: '1',
      // Promotions that come one after the other do not wait for each other.
      SLIPWAY_PROMOTIONS_APART: '0s',
      ...this.#env,
    };
  }

  /** Starts Temporal, with the database that it had before. */
  async startTemporal(): Promise<void> {
    const attributes = Object.values(SEARCH_ATTRIBUTES).flatMap((name) => [
      '--search-attribute',
      `${name}=Keyword`,
    ]);
    this.#temporal = new Process(
      this.#temporalPath,
      [
        ...['server', 'start-dev', '--headless', '--log-level', 'error', '--ip', '127.0.0.1'],
        ...['--port', String(this.#temporalPort), '--db-filename', join(this.folder, 'temporal.db')],
        ...['--sqlite-pragma', 'journal_mode=wal', ...attributes],
      ],
      {},
    );
    const temporal = this.#temporal;
    await eventually(async () => {
      temporal.assertAlive();
      const connection = await Connection.connect({
        address: `127.0.0.1:${this.#temporalPort}`,
        connectTimeout: 1_000,
      });
      try {
        await connection.workflowService.describeNamespace({ namespace: 'default' });
      } finally {
        await connection.close();
      }
    });
  }

  /** Starts the platform, with the home that it had before. */
  async startPlatform(): Promise<void> {
    const where = ['--home', this.platformHome, '--port', String(this.#platformPort)];
    this.#platform = slipway(['platform', '--json', ...where], {
      // What the platform calls its own address leads through the proxy: uploads and agents pass there too.
      env: { SLIPWAY_PUBLIC_URL: this.proxy.url, ...this.#platformEnv },
    });
    const ready = await this.#platform.ready();
    this.apiKey = String(ready['apiKey']);
  }

  async startWorker(): Promise<void> {
    const gate: Record<string, string> = this.#gated ? { TEMPORAL_ADDRESS: this.gate.address } : {};
    const env = { ...this.env, ...gate };
    this.#worker = slipway(['worker', '--json'], { env });
    await this.#worker.ready();
  }

  /** A client of Temporal, for what the command does not say. */
  async client(): Promise<Client> {
    this.#connection ??= await Connection.connect({
      address: this.env['TEMPORAL_ADDRESS']!,
      interceptors: CALL_INTERCEPTORS,
    });
    const { codec } = await temporalSettings(join(this.folder, 'home'), this.env);
    return createClient(this.#connection, 'default', { codec });
  }

  /** Calls the platform past Slipway and the proxy. */
  call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<unknown> {
    return callByHand(this, method, path, body, headers);
  }

  /**
   * Checks every target against the rules that hold always.
   *
   * @param options - `controlPlane`: not only its histories, but also the revisions that the control plane has and what
   *   it was asked to change, where it runs and only the worker asked through the proxy. Default: false.
   */
  async audit({ controlPlane = false } = {}): Promise<readonly Violation[]> {
    const settings = await temporalSettings(join(this.folder, 'home'), this.env);
    const temporal = await connectTemporal(settings);
    try {
      const targets = new Set<string>();
      for await (const { workflowId, type } of temporal.client.workflow.list()) {
        if (type === 'target') targets.add(workflowId);
      }
      const looked: TargetFacts[] = [];
      for (const workflowId of targets) {
        looked.push(readTargetFacts(workflowId, await fetchAudited(temporal, workflowId)));
      }
      const violations: Violation[] = [];
      for (const target of looked) {
        const others = looked.filter((other) => other !== target);
        const evidence = controlPlane ? await evidenceOf(this, target) : { target, observed: null };
        violations.push(...audit({ ...evidence, others, secrets: [this.apiKey] }));
      }
      return violations;
    } finally {
      await temporal.close();
    }
  }

  async stop(): Promise<void> {
    await this.#connection?.close();
    await Promise.all([this.#worker?.kill(), this.#platform?.kill()]);
    await this.#temporal?.kill();
    await Promise.all([this.#proxy?.close(), this.#gate?.close()]);
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Tries until it succeeds. */
export async function eventually<T>(attempt: () => T | Promise<T>, timeoutMs = 60_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** A port that no process listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the stack is not running');
  return value;
}
