import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { WorkflowNotFoundError } from '@temporalio/client';
import { parse, stringify } from 'yaml';

import { Repository } from '../../../packages/platform/test/git/repository.ts';
import { targetWorkflowId } from '../../../src/domain/target/targetSpec.ts';
import { progressQuery } from '../../../src/messages/release.ts';
import { lookupQuery, type TargetView, viewQuery } from '../../../src/messages/target.ts';
import type { Process } from '../processes.ts';
import { Project } from '../project.ts';
import { eventually, type Stack } from '../stack.ts';
import type { Errand, TargetPlan, Variant, Word } from './plan.ts';
import type { Tally } from './tally.ts';

const EXAMPLES = fileURLToPath(new URL('../../../examples/', import.meta.url));
const FOLDERS: Readonly<Record<Variant, string>> = {
  good: 'greeter',
  'wrong answer': 'broken/answers-wrongly',
  'crash at start': 'broken/crashes-at-start',
  'does not build': 'broken/does-not-build',
};
/** A release without an outcome after this time is stuck. */
const STUCK_MS = 420_000;
/** The pause before a request is sent again because nothing could be reached. */
const ASK_AGAIN_MS = 1_000;
/** On a busy machine a killed platform needs up to two minutes to restart. No step may time out before that. */
const STEPS = { serving: { heartbeat: '4s', scheduleToClose: '5m' } };

/** A requested release, as the target accepted it. */
interface Asked {
  readonly releaseId: string;
  /** The argument of `quarantine`. */
  readonly artifact: string;
}

/** One target and its users, who send commands and raw signals while processes and network fail. */
export class ChaosTarget {
  readonly plan: TargetPlan;
  readonly workflowId: string;
  readonly #stack: Stack;
  readonly #project: Project;
  readonly #repository: Repository | null;
  readonly #said: Tally;
  readonly #progress: (line: string) => void;
  #turn = 0;

  private constructor(options: {
    plan: TargetPlan;
    stack: Stack;
    project: Project;
    repository: Repository | null;
    said: Tally;
    progress: (line: string) => void;
  }) {
    this.plan = options.plan;
    this.#stack = options.stack;
    this.#project = options.project;
    this.#repository = options.repository;
    this.#said = options.said;
    this.#progress = options.progress;
    this.workflowId = targetWorkflowId({
      controlPlane: this.#stack.controlPlane,
      deployment: this.plan.deployment,
    });
  }

  /**
   * @param said - counts the commands and signals sent to the target.
   * @param progress - called with progress, one line each.
   */
  static async create(
    stack: Stack,
    plan: TargetPlan,
    said: Tally,
    progress: (line: string) => void,
  ): Promise<ChaosTarget> {
    const { deployment, queue, source } = plan;
    if (source === 'tarball') {
      const project = await Project.create(stack, {
        example: 'greeter',
        deployment,
        target: { queue },
        steps: STEPS,
      });
      return new ChaosTarget({ plan, stack, project, repository: null, said, progress });
    }
    const folder = join(stack.folder, 'repositories');
    const repository = await Repository.create(join(folder, deployment));
    const { id } = (await stack.call('POST', '/v1/integrations/github/install', {
      name: deployment,
      url_prefix: folder,
    })) as { id: string };
    const repo = { url: repository.path, ref: 'main', integrationId: id, buildOnPush: false };
    const target = { queue, source: 'repo_host', repo };
    const project = await Project.create(stack, { example: 'greeter', deployment, target, steps: STEPS });
    return new ChaosTarget({ plan, stack, project, repository, said, progress });
  }

  async runErrands(): Promise<void> {
    for (const errand of this.plan.errands) await this.#run(errand);
    await this.#signal('resume', { reason: 'the end' });
    await this.#signal('unhold', { reason: 'the end' });
  }

  /** Its state, as soon as a worker answers. */
  async view(): Promise<TargetView> {
    return eventually(async () => {
      const client = await this.#stack.client();
      return client.withDeadline(Date.now() + 5_000, () =>
        client.workflow.getHandle(this.workflowId).query(viewQuery),
      );
    }, STUCK_MS);
  }

  async #run(errand: Errand): Promise<void> {
    await this.#prepare(errand.variant);
    const asked = await this.#ask(errand.commandKilledAfterMs);
    this.#progress(`${this.plan.deployment}: ${asked.releaseId} (${errand.variant}) is asked for`);
    await after(errand.wordAfterMs);
    this.#said.add(errand.word);
    await this.#say(errand.word, asked);
    if (errand.settles) await this.#ended(asked.releaseId);
    if (errand.liftsHold) await this.#signal('unhold', { reason: 'go on' });
  }

  /** Writes the source of the next release: a new artifact. */
  async #prepare(variant: Variant): Promise<void> {
    const turn = ++this.#turn;
    const folder = FOLDERS[variant];
    if (this.#repository === null) {
      await this.#project.use(folder);
      await this.#project.touch(`turn ${turn}`);
      return;
    }
    const { path } = this.#repository;
    await rm(join(path, 'src'), { recursive: true, force: true });
    const kept = (file: string): boolean => !file.includes('node_modules') && !file.endsWith('slipway.yaml');
    await cp(join(EXAMPLES, folder), path, { recursive: true, filter: kept });
    await this.#repository.commit({ CHANGED: `turn ${turn}` });
    await this.#repository.git('branch', `turn-${turn}`);
    const file = join(this.#project.folder, 'slipway.yaml');
    const config = parse(await readFile(file, 'utf8')) as {
      targets: { staging: { repo: { ref: string } } };
    };
    config.targets.staging.repo.ref = `turn-${turn}`;
    await writeFile(file, stringify(config));
  }

  /** Requests a release as a script would: until the target accepts it. */
  async #ask(killedAfterMs: number | null): Promise<Asked> {
    if (killedAfterMs !== null) {
      const command = this.#project.run('release', 'staging', '--json');
      await Promise.race([after(killedAfterMs), command.exited]);
      await command.kill();
      this.#said.add('the asking command was killed');
    }
    return eventually(async () => {
      const { process, text } = await this.#project.ran('release', 'staging', '--json', '--no-wait');
      const submitted = eventOf(process, 'submitted');
      const artifact = eventOf(process, 'artifact');
      if (submitted === undefined) {
        await after(ASK_AGAIN_MS);
        throw new Error(`the release was not taken: ${text}`);
      }
      return { releaseId: String(submitted['releaseId']), artifact: String(artifact?.['artifact']) };
    }, STUCK_MS);
  }

  async #say(word: Word, { artifact }: Asked): Promise<void> {
    const by = { who: 'chaos', reason: word };
    switch (word) {
      case 'nothing':
        return;
      case 'rollback by update':
        await this.#project.ran('rollback', 'staging', '--no-wait', '--reason', word);
        return;
      case 'rollback by signal':
        return this.#signal('rollback', by);
      case 'abort by update':
        await this.#project.ran('abort', 'staging', '--reason', word);
        return;
      case 'abort by signal':
        return this.#signal('abort', by);
      case 'pause and resume':
        await this.#signal('pause', by);
        await after(2_000);
        return this.#signal('resume', by);
      case 'hold':
        return this.#signal('hold', by);
      case 'quarantine and ask again':
        await this.#signal('quarantine', { ...by, artifact });
        await this.#ask(null);
        return;
      case 'terminate the target':
        return this.#terminate(word);
      case 'garbage':
        for (const name of ['rollback', 'preempt', 'submitRelease', 'approve', 'no such thing']) {
          await this.#signal(name, { to: 7, who: [], reason: { nested: true } });
        }
    }
  }

  /** Terminates the target's workflow. The next command starts it again; a raw signal does not. */
  async #terminate(reason: string): Promise<void> {
    await eventually(async () => {
      const client = await this.#stack.client();
      await client
        .withDeadline(Date.now() + 5_000, () => client.workflow.getHandle(this.workflowId).terminate(reason))
        .catch((error: unknown) => {
          // An earlier attempt without an answer has terminated it.
          if (!(error instanceof WorkflowNotFoundError)) throw error;
        });
    }, STUCK_MS);
    await eventually(async () => {
      const { code, text } = await this.#project.ran('unhold', 'staging', '--reason', reason);
      if (code !== 0) throw new Error(`the target was not started again: ${text}`);
    }, STUCK_MS);
  }

  /** Sends a raw signal, as `temporal workflow signal` does. */
  async #signal(name: string, message: unknown): Promise<void> {
    await eventually(async () => {
      const client = await this.#stack.client();
      await client.withDeadline(Date.now() + 5_000, () =>
        client.workflow.getHandle(this.workflowId).signal(name, message),
      );
    }, STUCK_MS);
  }

  async #ended(releaseId: string): Promise<void> {
    const until = Date.now() + STUCK_MS;
    for (;;) {
      const found = await eventually(async () => {
        const client = await this.#stack.client();
        return client.withDeadline(Date.now() + 5_000, () =>
          client.workflow.getHandle(this.workflowId).query(lookupQuery, releaseId),
        );
      }, STUCK_MS);
      if (found?.state === 'ended') {
        this.#progress(
          `${this.plan.deployment}: ${releaseId} ended ${found.row.outcome}: ${found.row.reason}`,
        );
        return;
      }
      if (Date.now() > until) {
        throw new Error(
          `stuck: ${releaseId} of ${this.plan.deployment} has no outcome: ${JSON.stringify(found)}; ${await this.#atWork()}`,
        );
      }
      await after(300);
    }
  }

  async #atWork(): Promise<string> {
    const { running } = await this.view();
    if (running === null) return 'nothing runs';
    const client = await this.#stack.client();
    const handle = client.workflow.getHandle(running.workflowId);
    const { phase, steps, waiting } = await handle.query(progressQuery);
    return `${running.releaseId} runs: ${JSON.stringify({ phase, waiting, last: steps.at(-1) })}`;
  }
}

function eventOf(process: Process, name: string): Record<string, unknown> | undefined {
  return process.lines.find(({ event }) => event === name);
}
