import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';

import { Observer } from '../observer.ts';
import { Project } from '../project.ts';
import { writeSmallAgent } from '../smallAgent.ts';
import { changeByHand } from '../deployByHand.ts';
import type { Stack } from '../stack.ts';

/** A version of the agent that releases bring. */
export interface Version {
  /** What it answers. */
  readonly says: string;
  /** While there is this file, an instance of it that starts is not ready. */
  readonly slowStart: string;
}

/** A deployment, and the repository from which it is released to, with a new version for each release. */
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

  /** There is no deployment of that name yet. The steps have the deadlines that users have. */
  static async create(stack: Stack, name: string): Promise<Ground> {
    const project = await Project.create(stack, {
      example: { says: 'nothing yet' },
      deployment: name,
      steps: 'as they are',
    });
    return new Ground(stack, name, project);
  }

  /** Puts a version into the repository that passes its check, or one that does not. */
  async nextVersion(quality: 'good' | 'bad'): Promise<Version> {
    const version = this.#newVersion(quality);
    await this.project.use({ says: version.says, waitsWhileThereIs: version.slowStart });
    return version;
  }

  /** The version that serves, where there is one. */
  get serving(): Version | undefined {
    return this.#serving;
  }

  /** Notes which version serves from now on. */
  serves(version: Version): void {
    this.#serving = version;
  }

  /** Makes sure that a version serves that passed its check: what a release can be put back to. */
  async makeReady(): Promise<void> {
    if (this.#serving !== undefined) return;
    const version = await this.nextVersion('good');
    const { code, text } = await this.project.ran('release', 'staging');
    if (code !== 0) throw new Error(`the release before all others failed:\n${text}`);
    this.serves(version);
  }

  /** Changes the deployment to a good version past Slipway: the target has never seen it. */
  async changeBehindItsBack(): Promise<void> {
    const version = this.#newVersion('good');
    const source = await mkdtemp(join(this.#stack.folder, 'elsewhere-'));
    await writeSmallAgent(source, { says: version.says, waitsWhileThereIs: version.slowStart });
    await changeByHand(this.#stack, (await this.seen.deployment()).id, source);
    this.serves(version);
  }

  /** How many deployments of this name there are. */
  async deployments(): Promise<number> {
    const list = await this.#stack.call('GET', `/v2/deployments?name_contains=${this.#name}`);
    const { resources } = list as { readonly resources: readonly { readonly name: string }[] };
    return resources.filter(({ name }) => name === this.#name).length;
  }

  /** Takes the deployment away, and its agents with it. */
  async remove(): Promise<void> {
    await this.#stack.call('DELETE', `/v2/deployments/${(await this.seen.deployment()).id}`);
  }

  #newVersion(quality: 'good' | 'bad'): Version {
    const number = ++this.#versions;
    const slowStart = join(this.#stack.folder, `slow-start-${this.#name}-${number}`);
    return { says: quality === 'good' ? `Hello Ada, from version ${number}` : `No.`, slowStart };
  }
}
