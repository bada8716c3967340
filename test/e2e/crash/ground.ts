import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';

import { Observer } from '../observer.ts';
import { Project, type ProjectOptions } from '../project.ts';
import { writeSmallAgent } from '../smallAgent.ts';
import { changeByHand } from '../deployByHand.ts';
import type { Stack } from '../stack.ts';

/** A version of the agent. */
export interface Version {
  /** Its answer. */
  readonly says: string;
  /** While this file exists, a starting instance is not ready. */
  readonly slowStart: string;
}

/** A deployment and its repository, with a new version for each release. */
export class Ground {
  readonly seen: Observer;
  readonly project: Project;
  readonly #stack: Stack;
  readonly #name: string;
  #versions = 0;
  #serving: Version | undefined;

  private constructor(stack: Stack, name: string, project: Project) {
    this.#stack = stack;
    this.#name = name;
    this.project = project;
    this.seen = new Observer(stack, name);
  }

  /** No deployment of that name exists yet. The steps have the default deadlines. */
  static async create(
    stack: Stack,
    name: string,
    options: Pick<ProjectOptions, 'target' | 'metrics'> = {},
  ): Promise<Ground> {
    const project = await Project.create(stack, {
      example: { says: 'nothing yet' },
      deployment: name,
      steps: 'as they are',
      ...options,
    });
    return new Ground(stack, name, project);
  }

  /** Writes a version into the repository that passes its check (`good`) or fails it (`bad`). */
  async nextVersion(quality: 'good' | 'bad'): Promise<Version> {
    const version = this.#newVersion(quality);
    await this.project.use({ says: version.says, waitsWhileThereIs: version.slowStart });
    return version;
  }

  get serving(): Version | undefined {
    return this.#serving;
  }

  /** Records which version serves from now on. */
  serves(version: Version): void {
    this.#serving = version;
  }

  /** Ensures that a version serves that passed its check, so that a restore is possible. */
  async makeReady(): Promise<void> {
    if (this.#serving !== undefined) return;
    const version = await this.nextVersion('good');
    const { code, text } = await this.project.ran('release', 'staging');
    if (code !== 0) throw new Error(`the release before all others failed:\n${text}`);
    this.serves(version);
  }

  /** Changes the deployment to a good version without Slipway, so that the target does not know it. */
  async changeBehindItsBack(): Promise<void> {
    const version = this.#newVersion('good');
    const source = await mkdtemp(join(this.#stack.folder, 'elsewhere-'));
    await writeSmallAgent(source, { says: version.says, waitsWhileThereIs: version.slowStart });
    await changeByHand(this.#stack, (await this.seen.deployment()).id, source);
    this.serves(version);
  }

  async deployments(): Promise<number> {
    const list = await this.#stack.call('GET', `/v2/deployments?name_contains=${this.#name}`);
    const { resources } = list as { readonly resources: readonly { readonly name: string }[] };
    return resources.filter(({ name }) => name === this.#name).length;
  }

  /** Deletes the deployment and its agents. */
  async remove(): Promise<void> {
    await this.#stack.call('DELETE', `/v2/deployments/${(await this.seen.deployment()).id}`);
  }

  #newVersion(quality: 'good' | 'bad'): Version {
    const number = ++this.#versions;
    const slowStart = join(this.#stack.folder, `slow-start-${this.#name}-${number}`);
    return { says: quality === 'good' ? `Hello Ada, from version ${number}` : `No.`, slowStart };
  }
}
