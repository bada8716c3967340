import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { previewQuery } from '../../src/messages/preview.ts';
import { PASS, type FaultRule, type ProxiedRequest, REQUESTS } from './faultProxy.ts';
import type { Process } from './processes.ts';
import { Project } from './project.ts';
import { PullRequestComments } from './pullRequestComments.ts';
import { goodAgent } from './servingDeployment.ts';
import { eventually, Stack } from './stack.ts';

/** A state of a preview: it lasts for as long as a request is held. */
interface State {
  /** Makes the rule for the preview's requests to the control plane and to its agent. */
  readonly isMet?: () => (request: ProxiedRequest) => boolean;
  /** The request to GitHub. */
  readonly comment?: 'POST' | 'PATCH';
  readonly judged?: true;
}

/** One that comes after another. */
const after =
  (first: (request: ProxiedRequest) => boolean, then: (request: ProxiedRequest) => boolean) => () => {
    let isAfter = false;
    return (request: ProxiedRequest): boolean => {
      if (isAfter) return then(request);
      isAfter = first(request);
      return false;
    };
  };
const deletion = ({ method }: ProxiedRequest): boolean => method === 'DELETE';

/** The states from the push on, in order. */
const STATES: Readonly<Record<string, State>> = {
  'its comment is added': { comment: 'POST' },
  'its deployment is looked for': { isMet: () => REQUESTS.find },
  'its deployment is created': { isMet: () => REQUESTS.create },
  'an upload is asked for': { isMet: () => REQUESTS.uploadUrl },
  'its source is uploaded': { isMet: () => REQUESTS.upload },
  'its deployment is changed': { isMet: () => REQUESTS.patch },
  'its revision is built': { isMet: after(REQUESTS.patch, REQUESTS.poll) },
  'its agent starts to serve': { isMet: () => REQUESTS.serving },
  'it is checked': { isMet: () => REQUESTS.run },
  'it is compared with staging': { isMet: after(REQUESTS.run, REQUESTS.run), judged: true },
  'its comment is updated': { comment: 'PATCH' },
};

/** The states of its removal, in order. */
const REMOVAL: Readonly<Record<string, State>> = {
  'its deployment is looked for': { isMet: () => REQUESTS.find },
  'its deployment is deleted': { isMet: () => deletion },
  'its deployment goes': { isMet: after(deletion, REQUESTS.find) },
  'its comment says so': { comment: 'PATCH' },
};

const LONG = '1h';
/** Long enough to come to each state, in seconds: several times what a release takes on this machine now. */
let shortS = 30;

/** How long to wait for what follows a preview's deadline, in milliseconds. */
const pastDeadlineMs = (): number => 2_000 * shortS + 60_000;

let github: PullRequestComments;
let stack: Stack;
const all: PullRequest[] = [];
let opened = 0;

/** A pull request with a repository of its own, whose preview can be held in a state. */
class PullRequest {
  readonly pr: number;
  readonly project: Project;
  /** The parts of paths by which its requests are known. */
  readonly places: string[] = [];
  /** The rule for its requests. */
  rule: FaultRule = PASS;
  holdComment: (method: string) => Promise<void> | undefined = () => undefined;

  private constructor(pr: number, project: Project) {
    this.pr = pr;
    this.project = project;
  }

  static async open(ttl: string, judged = false): Promise<PullRequest> {
    const pr = opened++;
    const { apiUrl, repository } = github;
    const project = await Project.create(stack, {
      example: goodAgent(0),
      deployment: 'staging',
      steps: { watch: { scheduleToClose: '30s' } },
      previews: {
        kills: {
          from: 'staging',
          deployment: 'pr-{pr}',
          ttl,
          max: 100,
          comment: { kind: 'github', apiUrl, repository, token: { from: 'env:PREVIEW_TOKEN' } },
          judge: judged ? { inputs: 'inputs.jsonl', assistant: 'greeter', repetitions: 2 } : undefined,
        },
      },
    });
    const request = new PullRequest(pr, project);
    await request.change(0);
    all.push(request);
    return request;
  }

  get deployment(): string {
    return `pr-${this.pr}`;
  }

  /** Writes a version of the agent, and what the judge asks it. */
  async change(version: number): Promise<void> {
    await this.project.use(goodAgent(version));
    await writeFile(join(this.project.folder, 'inputs.jsonl'), '{"input": {"messages": []}}\n');
  }

  run(...words: string[]): Process {
    return this.project.run('preview', ...words, '--pr', String(this.pr), '--json');
  }

  /** Runs a command to its end. @returns its last line. */
  async ran(...words: string[]): Promise<Record<string, unknown>> {
    const command = this.run(...words);
    expect(await command.exited, command.stdout + command.stderr).toBe(0);
    return command.lines.at(-1) ?? {};
  }

  /** Runs a command until the preview is in a state, and kills it. @returns what ends the state. */
  async killedIn({ isMet, comment }: State, ...words: string[]): Promise<() => void> {
    let open = (): void => undefined;
    const until = new Promise<void>((resolve) => (open = resolve));
    const isHeld = isMet?.() ?? (() => false);
    const command = this.run(...words);
    await new Promise<void>((resolve, reject) => {
      const hold = (): Promise<void> => {
        resolve();
        return until;
      };
      this.rule = (request) => (isHeld(request) ? { kind: 'hold', until: hold() } : undefined);
      this.holdComment = (method) => (method === comment ? hold() : undefined);
      // The comment and the judge come after the end of the release, which is the end of the command.
      void command.exited.then((code) => {
        if (code !== 0) reject(new Error(command.lines.map(({ event }) => event).join() + command.stderr));
      });
    });
    await command.kill();
    return () => {
      this.rule = PASS;
      this.holdComment = () => undefined;
      open();
    };
  }

  async workflow(): Promise<WorkflowHandle> {
    const client = await stack.client();
    return client.workflow.getHandle(`preview:${stack.controlPlane}:${this.deployment}`);
  }

  async pushes(): Promise<number> {
    const { events } = await (await this.workflow()).fetchHistory();
    return (events ?? []).filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes != null)
      .length;
  }

  /** Releases it, and waits for the comment that says so. */
  async isReleased(): Promise<void> {
    await this.ran('up');
    await eventually(() => expect(github.of(this.pr)).toContain('**released**'));
  }

  async isRemoved(because: string): Promise<void> {
    await eventually(() => expect(github.of(this.pr)).toMatch(/\*\*Removed\.\*\*/), pastDeadlineMs());
    expect(github.of(this.pr)).toContain(because);
    expect(await deployments()).not.toContain(this.deployment);
  }
}

async function deployments(): Promise<string[]> {
  const { resources } = (await stack.call('GET', '/v2/deployments?limit=100')) as {
    resources: { name: string }[];
  };
  return resources.map(({ name }) => name);
}

beforeAll(async () => {
  github = await PullRequestComments.start();
  stack = await Stack.start({}, { env: { PREVIEW_TOKEN: github.token } });
  const of = ({ path, body }: ProxiedRequest): PullRequest | undefined =>
    all.find(({ deployment, places }) => {
      const { searchParams } = new URL(path, stack.origin);
      const isNamed = searchParams.get('name_contains') === deployment || body?.includes(`"${deployment}"`);
      return isNamed === true || places.some((place) => path.includes(place));
    });
  stack.proxy.rule = (request) => of(request)?.rule(request);
  stack.proxy.answerRule = (request) => {
    if (!REQUESTS.create(request) && !REQUESTS.uploadUrl(request)) return undefined;
    return (answer) => {
      const { id, upload_url: upload } = answer as { id?: string; upload_url?: string };
      of(request)?.places.push(id ?? new URL(upload ?? '').pathname);
      return answer;
    };
  };
  github.hold = (method, of) => all.find(({ pr }) => pr === of)?.holdComment(method);
  const main = await PullRequest.open(LONG);
  const began = Date.now();
  const released = await main.project.ran('release', 'staging');
  expect(released.code, released.text).toBe(0);
  shortS = Math.max(shortS, Math.ceil((3 * (Date.now() - began)) / 1_000));
});
afterAll(async () => {
  await stack.stop();
  await github.stop();
});

// On a busy machine a deadline may be minutes away.
vi.setConfig({ testTimeout: 900_000 });

describe.concurrent('a pull request whose CI is killed', () => {
  it.each(Object.entries(STATES))('while %s is removed by its deadline', async (_, state) => {
    const request = await PullRequest.open(`${shortS}s`, state.judged);
    const open = await request.killedIn(state);
    const workflow = await request.workflow();
    await eventually(
      async () => expect((await workflow.query(previewQuery)).removal).not.toBeNull(),
      pastDeadlineMs(),
    );
    open();
    await request.isRemoved('its deadline passed');
  });

  it.each(Object.entries(STATES))('while %s is removed when it is closed', async (_, state) => {
    const request = await PullRequest.open(LONG, state.judged);
    const open = await request.killedIn(state);
    const down = request.run('down', '--reason', 'closed');
    await down.line(({ event }) => event === 'preview_removal');
    open();
    expect(await down.exited, down.stdout + down.stderr).toBe(0);
    await request.isRemoved('closed');
  });

  it.each(Object.entries(STATES))('while %s is renewed by the next push', async (_, state) => {
    const request = await PullRequest.open(LONG, state.judged);
    const open = await request.killedIn(state);
    await request.change(1);
    const next = request.run();
    await next.line(({ event }) => event === 'submitted');
    open();
    expect(await next.exited, next.stdout + next.stderr).toBe(0);
    await eventually(() => expect(github.of(request.pr)).toContain('release-2: **released**'));
    expect(await request.ran('down')).toMatchObject({ removed: 'deleted' });
    await request.isRemoved('removed it');
  });

  it.each(Object.entries(REMOVAL))('during its removal, while %s, is removed', async (_, state) => {
    const request = await PullRequest.open(LONG);
    await request.isReleased();
    const open = await request.killedIn(state, 'down');
    open();
    await request.isRemoved('removed it');
  });

  it.each(Object.entries(REMOVAL))(
    'during its removal, while %s, is made anew by a push, and removed by its deadline',
    async (_, state) => {
      const request = await PullRequest.open(`${shortS}s`);
      await request.isReleased();
      const open = await request.killedIn(state, 'down');
      const before = await request.pushes();
      const next = request.run();
      await eventually(async () => expect(await request.pushes()).toBe(before + 1));
      open();
      expect(await next.exited, next.stdout + next.stderr).toBe(0);
      expect(await deployments()).toContain(request.deployment);
      await request.isRemoved('its deadline passed');
    },
  );
});

describe('pull requests whose CI is killed with the worker', () => {
  it('before a worker takes the push, and while its revision is built, are removed by their deadlines', async () => {
    const short = `${shortS}s`;
    const [built, pushed] = [await PullRequest.open(short), await PullRequest.open(short)];
    const open = await built.killedIn(STATES['its revision is built'] ?? {});
    await stack.worker.kill();
    const ci = pushed.run();
    const workflow = await pushed.workflow();
    await eventually(() => workflow.describe());
    await ci.kill();
    await stack.startWorker();
    open();
    for (const request of [built, pushed]) await request.isRemoved('its deadline passed');
  });
});

describe('after all of them', () => {
  it('no deployment, workflow, lock or second comment is left, and no rule is broken', async () => {
    expect(await deployments()).toEqual(['staging']);
    const client = await stack.client();
    await eventually(async () => {
      const running: string[] = [];
      for await (const { workflowId, memo } of client.workflow.list({ query: "ExecutionStatus = 'Running'" }))
        running.push(`${workflowId} ${JSON.stringify(memo)}`);
      expect(running.filter((workflow) => workflow.includes('pr-'))).toEqual([]);
    });
    for (const { pr } of all.slice(1)) expect(github.of(pr)).toContain('**Removed.**');
    const audited = await all[0]!.project.ran('audit', '--json');
    expect(audited.code, audited.text).toBe(0);
    expect(await stack.audit()).toEqual([]);
  });
});
