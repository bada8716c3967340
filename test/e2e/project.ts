import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { stringify } from 'yaml';

import { meet, REQUESTS } from './faultProxy.ts';
import { type Process, slipway } from './processes.ts';
import { type SmallAgent, writeSmallAgent } from './smallAgent.ts';
import type { Stack } from './stack.ts';

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));

/** Deadlines and retries for tests: a lost connection is noticed within seconds. */
export const QUICK_STEPS = {
  find: { startToClose: '3s', retry: { initialInterval: '200ms', maximumInterval: '1s' } },
  create: { startToClose: '3s', retry: { initialInterval: '500ms', maximumInterval: '1s' } },
  baseline: { heartbeat: '4s' },
  upload: { heartbeat: '4s', retry: { initialInterval: '200ms' } },
  patch: { startToClose: '3s', retry: { initialInterval: '500ms', maximumInterval: '1s' } },
  deployed: { heartbeat: '4s', scheduleToClose: '3m' },
  serving: { heartbeat: '4s', scheduleToClose: '1m' },
  check: { heartbeat: '4s', retry: { initialInterval: '300ms' } },
  redeploy: { startToClose: '3s', retry: { initialInterval: '500ms', maximumInterval: '1s' } },
  record: { startToClose: '3s' },
};

/** A test's settings of a project. Everything else comes from the example. */
export interface ProjectOptions {
  /** The first source: a folder of `examples/`, or a small agent, which builds and starts faster. */
  readonly example: string | SmallAgent;
  readonly deployment: string;
  readonly target?: Record<string, unknown>;
  /** Overrides of {@link QUICK_STEPS}, by step; `as they are`: the product's defaults. */
  readonly steps?: Record<string, unknown> | 'as they are';
  readonly checks?: readonly Record<string, unknown>[];
  readonly notify?: readonly Record<string, unknown>[];
  readonly hooks?: Record<string, unknown>;
  readonly metrics?: Record<string, unknown>;
  readonly previews?: Record<string, unknown>;
  /** The example's install command. Default: by its lock file. */
  readonly installCommand?: string;
  /** The artifact store. Default: the home's. */
  readonly store?: string;
  /** Variables in addition to {@link Stack.env}. Default: none. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A user's repository: an example agent with a `slipway.yaml` that points to the stack. */
export class Project {
  readonly folder: string;
  readonly #stack: Stack;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(folder: string, stack: Stack, env: Readonly<Record<string, string>> = {}) {
    this.folder = folder;
    this.#stack = stack;
    this.#env = env;
  }

  static async create(stack: Stack, options: ProjectOptions): Promise<Project> {
    const project = new Project(await mkdtemp(join(stack.folder, 'project-')), stack, options.env);
    await project.use(options.example);
    await writeFile(
      join(project.folder, 'slipway.yaml'),
      stringify({
        targets: {
          staging: {
            controlPlane: stack.controlPlane,
            apiKey: { from: 'env:SLIPWAY_API_KEY' },
            deployment: options.deployment,
            ...options.target,
          },
        },
        checks: options.checks ?? [GREETS],
        notify: options.notify,
        hooks: options.hooks,
        previews: options.previews,
        metrics: options.metrics,
        artifact: {
          installCommand: options.installCommand,
          store: options.store,
        },
        ...(options.steps === 'as they are' ? {} : { steps: { ...QUICK_STEPS, ...options.steps } }),
      }),
    );
    return project;
  }

  async use(example: string | SmallAgent): Promise<void> {
    const before = (await readdir(this.folder)).filter((name) => name !== 'slipway.yaml');
    for (const name of before) await rm(join(this.folder, name), { recursive: true });
    if (typeof example !== 'string') {
      await writeSmallAgent(this.folder, example);
      return;
    }
    const kept = (path: string): boolean => !path.endsWith('slipway.yaml') && !path.includes('node_modules');
    await cp(join(EXAMPLES, example), this.folder, { recursive: true, filter: kept });
  }

  /** Changes the source, which gives another artifact. */
  async touch(text: string): Promise<void> {
    await writeFile(join(this.folder, 'CHANGED'), text);
  }

  /** Starts a release of the source. Resolves when it polls for its revision, which the proxy does not answer. */
  async startHeldRelease(): Promise<void> {
    const polling = meet(this.#stack.proxy, REQUESTS.poll, {
      kind: 'hold_back',
      until: new Promise(() => undefined),
    });
    const { code, text } = await this.ran('release', 'staging', '--no-wait');
    if (code !== 0) throw new Error(text);
    await polling;
  }

  run(...args: string[]): Process {
    const { env, installed } = this.#stack;
    return slipway(args, { env: { ...env, ...this.#env }, cwd: this.folder, bin: installed.slipway });
  }

  async ran(...args: string[]): Promise<{ code: number | null; process: Process; text: string }> {
    const process = this.run(...args);
    const code = await process.exited;
    return { code, process, text: process.stdout + process.stderr };
  }
}

/** The check that the good agent passes and the bad ones fail. */
export const GREETS = {
  name: 'greets',
  assistant: 'greeter',
  input: { messages: [{ role: 'user', content: 'Hello, I am Ada' }] },
  expect: { contains: 'Ada' },
  timeout: '20s',
};
