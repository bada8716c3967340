import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Client, Connection } from '@temporalio/client';

import { audit } from '../../src/domain/audit/audit.ts';
import type { TargetFacts, Violation } from '../../src/domain/audit/facts.ts';
import { SEARCH_ATTRIBUTES } from '../../src/domain/searchAttributes.ts';
import { callInterceptors, connectTemporal, createClient } from '../../src/temporal/client/connection.ts';
import { temporalSettings } from '../../src/temporal/client/temporalSettings.ts';
import { fetchAudited } from '../../src/temporal/history/fetchHistories.ts';
import { readTargetFacts } from '../../src/temporal/history/readFacts.ts';
import { installTemporal } from '../../src/temporal/server/installation/installation.ts';
import { prepareHome } from '../support/preparedHome.ts';
import { callByHand } from './callByHand.ts';
import { evidenceOf } from './evidence.ts';
import { type FaultProxy, startFaultProxy } from './faultProxy.ts';
import { Process, slipway } from './processes.ts';
import { type GateAccess, openTemporalGate, type TemporalGate } from './temporalGate.ts';
import { freePort } from '../support/listen.ts';

interface StackOptions {
  /** Whether the worker connects to Temporal through {@link Stack.gate}. Default: false. */
  readonly gated?: boolean;
  /** Who may call what in Temporal; then all Slipway processes go through the gate. Default: no gate. */
  readonly access?: GateAccess;
  /** Whether to start {@link Stack.worker}. Default: true. */
  readonly worker?: boolean;
  /** Variables of all Slipway processes except the platform, in addition to {@link Stack.env}. */
  readonly env?: Readonly<Record<string, string>>;
  /** Other installations to begin with. Default: this one. */
  readonly installed?: Installed;
}

/** The `bin/slipway.js` of the platform, and of the worker and the command. */
interface Installed {
  readonly platform?: string;
  readonly slipway?: string;
}

/** Everything that a release needs, as real processes that can be killed one by one. */
export class Stack {
  folder = '';
  apiKey = '';
  /** What is started from now on. */
  installed: Installed;
  readonly #platformEnv: Record<string, string>;
  readonly #options: StackOptions;
  #temporalPath = '';
  #temporalPort = 0;
  #platformPort = 0;
  #temporal: Process | undefined;
  #platform: Process | undefined;
  #worker: Process | undefined;
  #proxy: FaultProxy | undefined;
  #gate: TemporalGate | undefined;
  #connection: Connection | undefined;

  /** @param platformEnv - variables of the platform. */
  constructor(platformEnv: Record<string, string> = {}, options: StackOptions = {}) {
    this.installed = options.installed ?? {};
    this.#platformEnv = platformEnv;
    this.#options = options;
  }

  static async start(...given: ConstructorParameters<typeof Stack>): Promise<Stack> {
    const stack = new Stack(...given);
    await stack.begin();
    return stack;
  }

  async begin(): Promise<void> {
    this.folder = await mkdtemp(join(tmpdir(), 'slipway-e2e-'));
    this.#temporalPath = (await installTemporal({ onProgress: () => undefined })).path;
    const { gated = false, access, worker = true } = this.#options;
    try {
      // One after the other: Temporal also takes free ports of its own choice, which must not be another process's
      // port.
      this.#temporalPort = await freePort();
      await this.startTemporal();
      this.#platformPort = await freePort();
      // Another platform creates its own tables.
      if (this.installed.platform === undefined) await prepareHome(this.platformHome);
      this.#proxy = await startFaultProxy(this.origin);
      if (gated || access !== undefined) this.#gate = await openTemporalGate(this.temporalAddress, access);
      await this.startPlatform();
      if (worker) await this.startWorker();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** The control plane as Slipway sees it: through the proxy. */
  get controlPlane(): string {
    return this.proxy.url;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#platformPort}`;
  }

  get proxy(): FaultProxy {
    return required(this.#proxy);
  }

  get temporalAddress(): string {
    return `127.0.0.1:${this.#temporalPort}`;
  }

  /** The gate before Temporal. Only with `gated` or `access`. */
  get gate(): TemporalGate {
    return required(this.#gate);
  }

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

  get env(): Record<string, string> {
    return {
      SLIPWAY_HOME: join(this.folder, 'home'),
      SLIPWAY_API_KEY: this.apiKey,
      TEMPORAL_ADDRESS: this.#options.access === undefined ? this.temporalAddress : this.gate.address,
      NO_COLOR: '1',
      // Consecutive promotions start without a pause between them.
      SLIPWAY_PROMOTIONS_APART: '0s',
      ...this.#options.env,
    };
  }

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
        address: this.temporalAddress,
        connectTimeout: 1_000,
      });
      try {
        await connection.workflowService.describeNamespace({ namespace: 'default' });
      } finally {
        await connection.close();
      }
    });
  }

  async startPlatform(): Promise<void> {
    const where = ['--home', this.platformHome, '--port', String(this.#platformPort)];
    this.#platform = slipway(['platform', '--json', ...where], {
      // The platform's public URL is the proxy's, so uploads and agent calls also pass through the proxy.
      env: { SLIPWAY_PUBLIC_URL: this.proxy.url, ...this.#platformEnv },
      bin: this.installed.platform,
    });
    const ready = await this.#platform.ready();
    this.apiKey = String(ready['apiKey']);
  }

  async startWorker(): Promise<void> {
    const gate: Record<string, string> =
      this.#options.gated === true ? { TEMPORAL_ADDRESS: this.gate.address } : {};
    const env = { ...this.env, ...gate };
    this.#worker = slipway(['worker', '--json'], { env, bin: this.installed.slipway });
    await this.#worker.ready();
  }

  /** A Temporal client, for what the command does not show. */
  async client(): Promise<Client> {
    this.#connection ??= await Connection.connect({
      address: this.temporalAddress,
      interceptors: callInterceptors(),
    });
    const { codec } = await temporalSettings(join(this.folder, 'home'), this.env);
    return createClient(this.#connection, 'default', { codec });
  }

  async temporalDatabase(): Promise<Buffer> {
    const files = (await readdir(this.folder)).filter((name) => name.startsWith('temporal.db'));
    return Buffer.concat(await Promise.all(files.map((name) => readFile(join(this.folder, name)))));
  }

  /** Calls the platform without Slipway and the proxy. */
  call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<unknown> {
    return callByHand(this, method, path, body, headers);
  }

  /**
   * Checks every target against the safety rules.
   * @param options - `controlPlane`: check not only histories, but also the control plane's revisions and the change
   * requests it received. Needs a running platform, and that only the worker used the proxy. Default: false.
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
        const evidence = controlPlane ? await evidenceOf(this, target) : { target, observed: null };
        violations.push(...audit({ ...evidence, others: looked, secrets: [this.apiKey] }));
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

/** Retries until it succeeds. */
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

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the stack is not running');
  return value;
}
