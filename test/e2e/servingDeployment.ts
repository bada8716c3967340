import { type FaultRule, PASS, type ProxiedRequest } from './faultProxy.ts';
import { Observer } from './observer.ts';
import type { Pool } from './pool.ts';
import { Project, type ProjectOptions } from './project.ts';
import type { Stack } from './stack.ts';

export const goodAgent = (version: number): { readonly says: string } => ({
  says: `Hello Ada, hello Grace! This is version ${version}.`,
});

/**
 * A deployment that serves a good version, with its own repository and faults. Tests can release to several at once.
 */
export class ServingDeployment {
  readonly project: Project;
  readonly seen: Observer;
  rule: FaultRule = PASS;
  readonly #id: string;
  readonly #name: string;
  #versions = 1;

  private constructor(name: string, id: string, project: Project, seen: Observer) {
    this.#name = name;
    this.#id = id;
    this.project = project;
    this.seen = seen;
  }

  /** Creates several at once: `name-1`, `name-2`, … */
  static async several(
    stack: Stack,
    name: string,
    count: number,
    options: Partial<ProjectOptions> = {},
  ): Promise<readonly ServingDeployment[]> {
    const names = Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);
    const all = await Promise.all(names.map((each) => ServingDeployment.#create(stack, each, options)));
    stack.proxy.rule = (request) => all.find((one) => one.#isAskedFor(request))?.rule(request);
    return all;
  }

  static async #create(
    stack: Stack,
    name: string,
    options: Partial<ProjectOptions>,
  ): Promise<ServingDeployment> {
    const project = await Project.create(stack, { example: goodAgent(0), deployment: name, ...options });
    const { code, text } = await project.ran('release', 'staging');
    if (code !== 0) throw new Error(`the release before all others failed:\n${text}`);
    const seen = new Observer(stack, name);
    return new ServingDeployment(name, (await seen.deployment()).id, project, seen);
  }

  change(): Promise<void> {
    return this.project.use(goodAgent(this.#versions++));
  }

  async active(): Promise<string | null> {
    return (await this.seen.deployment()).active_revision_id;
  }

  #isAskedFor({ path }: ProxiedRequest): boolean {
    return path.includes(this.#id) || path.includes(`name_contains=${this.#name}`);
  }
}

/** Runs a case on a free deployment, with the revision that serves and a new version to release. Ends its faults. */
export function withDeployment(
  deployments: Pool<ServingDeployment>,
  work: (on: ServingDeployment, good: string) => Promise<void>,
): Promise<void> {
  return deployments.use(async (on) => {
    const good = (await on.active())!;
    await on.change();
    try {
      await work(on, good);
    } finally {
      on.rule = PASS;
    }
  });
}
