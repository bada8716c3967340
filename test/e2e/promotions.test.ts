import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeAll, describe, expect, it } from 'vitest';

import {
  type InterventionOptions,
  runInterventionCommand,
} from '../../src/cli/commands/intervention/intervene.ts';
import { runPlanCommand } from '../../src/cli/commands/plan.ts';
import { type PromoteOptions, runPromoteCommand } from '../../src/cli/commands/promotion/promote.ts';
import { runReleaseCommand } from '../../src/cli/commands/release/release.ts';
import {
  runScheduleApply,
  runScheduleList,
  runSchedulePause,
  runScheduleTrigger,
} from '../../src/cli/commands/schedule/schedule.ts';
import { runStatusCommand } from '../../src/cli/commands/status/status.ts';
import { runHoldCommand } from '../../src/cli/commands/target/blocks.ts';
import type { InterventionKind } from '../../src/domain/intervention/intervention.ts';
import type { StepRecord } from '../../src/domain/release/release.ts';
import { Observer } from './observer.ts';
import { Person, type Said } from './person.ts';
import { type Process, slipway } from './processes.ts';
import { Project } from './project.ts';
import { EVERY_MS, writePromotions } from './promotionFiles.ts';
import type { SmallAgent } from './smallAgent.ts';
import { eventually } from './stack.ts';
import { useAuditedStack } from './useStack.ts';

/** Promotions with real services and agents. Only `npm run test:promotions` runs the slow tests. */
const WITH_OUTAGES = process.env['SLIPWAY_E2E_OUTAGES'] !== undefined;

const stack = useAuditedStack();
let project: Project;
let canary: Observer;
let production: Observer;
let ada: Person;
let bo: Person;

beforeAll(async () => {
  project = await Project.create(stack, { example: agent('A'), deployment: 'canary' });
  await writePromotions(project, stack.controlPlane);
  canary = new Observer(stack, 'canary');
  production = new Observer(stack, 'production');
  ada = new Person(stack, project, 'ada');
  bo = new Person(stack, project, 'bo');
});

/** A file at this path makes the agent of that name answer wrongly. */
function flagOf(name: string): string {
  return join(stack.folder, `BAD-${name}`);
}

function agent(name: string, traits: Partial<SmallAgent> = {}): SmallAgent {
  return { says: `Hello Ada, this is ${name}`, takesMs: 20, badWhileThereIs: flagOf(name), ...traits };
}

async function releaseOnCanary(example: SmallAgent): Promise<void> {
  await project.use(example);
  await writePromotions(project, stack.controlPlane);
  const { code, text } = await ada.did((context, file) =>
    runReleaseCommand(context, 'canary', { config: file, wait: true, timeout: 120_000 }),
  );
  expect(code, text).toBe(0);
}

function promote(who: Person, name: string, options: Partial<PromoteOptions> = {}): Said {
  return who.says((context, file) =>
    runPromoteCommand(context, name, { config: file, wait: true, timeout: 200_000, ...options }),
  );
}

function asProcess(args: readonly string[], env: Record<string, string> = {}): Process {
  return slipway(['promote', ...args], { env: { ...stack.env, ...env }, cwd: project.folder });
}

function say(who: Person, kind: InterventionKind, promotion: string, options: InterventionOptions = {}) {
  return who.did((context, file) =>
    runInterventionCommand(context, kind, undefined, { config: file, promotion, ...options }),
  );
}

/** How a promotion ended: its record, as the command prints it. */
async function ended(said: Said): Promise<Readonly<Record<string, unknown>>> {
  await said.code;
  return said.event(({ event }) => event === 'promotion_ended');
}

async function active(target: Observer): Promise<string | null> {
  return (await target.deployment()).active_revision_id;
}

describe('promotions, on a real Temporal, a real platform and real agents', () => {
  it('release on production the artifact that is verified on the canary, after soak and bake', async () => {
    await releaseOnCanary(agent('A', { slowlyMs: 800 }));
    // In a separate process, as a job on GitHub does.
    const [summary, outputs] = [join(stack.folder, 'summary.md'), join(stack.folder, 'outputs')];
    const command = asProcess(['plain', '--reason', 'the first'], {
      GITHUB_ACTIONS: 'true',
      GITHUB_STEP_SUMMARY: summary,
      GITHUB_OUTPUT: outputs,
    });
    expect(await command.exited, command.stdout + command.stderr).toBe(0);
    expect(command.stdout).toMatch(/^::group::plain, step by step\n[^]*^::endgroup::\n[^]*released/m);
    const written = await readFile(summary, 'utf8');
    expect(written).toMatch(/^## ✔ plain, canary to production: released$/m);
    expect(written).toMatch(/^\| soak .*\| done \|/m);
    expect(await production.ask('Hello')).toContain('this is A');
    const { servingRevisionId, agentUrl } = await production.result('release-1');
    expect(await readFile(outputs, 'utf8')).toBe(
      `release-id=release-1\noutcome=released\nserving-revision-id=${servingRevisionId}\nagent-url=${agentUrl}\n`,
    );
    const artifact = async (target: Observer) => (await target.result('release-1')).artifact;
    expect(await artifact(production)).toBe(await artifact(canary));
    expect(await ended(promote(ada, 'plain'))).toMatchObject({ outcome: 'released', nothingToDo: true });
  });

  it('abort if their command is interrupted, with --abort-on-interrupt', async () => {
    await releaseOnCanary(agent('B', { slowlyMs: 1_040, breaks: true }));
    const command = asProcess(['long', '--abort-on-interrupt', '--json']);
    await command.line(({ step, status }) => step === 'soak' && status === 'running');
    command.child.kill('SIGTERM');
    expect(await command.exited, command.stderr).toBe(5);
    expect(command.lines.slice(-2)).toMatchObject([
      { event: 'intervention', kind: 'abort', disposition: 'taken' },
      { event: 'gave_up', why: 'stopped' },
    ]);
    await eventually(async () => {
      const [last] = (await project.ran('status', 'production', '--json')).process.lines.filter(
        ({ name }) => name === 'long',
      );
      expect(last).toMatchObject({ state: 'ended', last: { outcome: 'aborted' } });
    });
  });

  it('are judged: a drop of success by 5 points fails, and few runs are inconclusive', async () => {
    const before = await active(production);
    const [worse, unsure] = [promote(ada, 'worse'), promote(ada, 'unsure')];
    await unsure.event(({ event }) => event === 'waiting');
    expect((await say(bo, 'abort', 'unsure')).code).toBe(0);
    expect(await ended(unsure)).toMatchObject({
      outcome: 'aborted',
      judgement: { verdict: 'inconclusive' },
    });
    expect(await worse.code, await worse.text()).toBe(2);
    const { code, judgement } = await ended(worse);
    expect(code).toBe('SLIPWAY_CANDIDATE_WORSE');
    expect(judgement).toMatchObject({ verdict: 'failed', reasons: [expect.stringContaining('5.0 points')] });
    expect(await active(production)).toBe(before);
  });

  it('are judged: latencies that grow by 30 % fail, also if the worker is killed during the judgement', async () => {
    const before = await active(production);
    const promotion = promote(ada, 'slower');
    await promotion.event(({ step, status }) => step === 'judge' && status === 'running');
    await stack.worker.kill();
    await stack.startWorker();
    expect(await promotion.code, await promotion.text()).toBe(2);
    const { code, judgement, steps } = await ended(promotion);
    const judged = (steps as readonly StepRecord[]).find(({ step }) => step === 'judge');
    expect(judged?.attempts).toBeGreaterThan(1);
    expect(code, await promotion.text()).toBe('SLIPWAY_CANDIDATE_WORSE');
    expect(judgement).toMatchObject({ reasons: [expect.stringContaining('latency')] });
    expect(await active(production)).toBe(before);
    const status = ada.says((context, file) =>
      runStatusCommand(context, 'production', { config: file, last: 1 }),
    );
    expect(await status.event(({ name }) => name === 'slower')).toMatchObject({
      event: 'promotion_status',
      last: { judgement },
    });
  });

  it('are rejected by a freeze; a waiting one is approved by another person, and continues by override', async () => {
    const refused = promote(ada, 'frozen');
    expect(await refused.code).toBe(4);
    // Only after its soak, because another freeze may be in force then.
    expect((await ended(refused))['reason']).toContain('frozen by "always"');
    const promotion = promote(ada, 'guarded');
    await promotion.event(({ event, for: what }) => event === 'waiting' && what === 'approval');
    const own = await say(ada, 'approve', 'guarded');
    expect(own).toMatchObject({
      code: 4,
      text: expect.stringContaining('the person who asked for it cannot approve it') as string,
    });
    expect((await say(bo, 'approve', 'guarded', { reason: 'looked at it' })).code).toBe(0);
    await promotion.event(({ event, for: what }) => event === 'waiting' && what === 'freeze');
    const joining = asProcess(['guarded', '--override-freeze', '--reason', 'incident 42', '--no-wait']);
    expect(await joining.exited).toBe(0);
    expect(joining.stderr).toContain('slipway skip --promotion guarded --freeze');
    expect((await say(bo, 'skip', 'guarded', { freeze: true, reason: 'incident 42' })).code).toBe(0);
    expect(await promotion.code, await promotion.text()).toBe(0);
    const { interventions } = await ended(promotion);
    expect(interventions).toContainEqual(expect.objectContaining({ kind: 'skip', what: 'freeze' }));
    expect(JSON.stringify(interventions)).toContain('incident 42');
    const late = await say(bo, 'approve', 'guarded');
    expect(late).toMatchObject({ code: 4, text: expect.stringContaining('has ended released') as string });
  });

  it('restore the earlier revision if the bake fails, and block the target until a person ends the hold', async () => {
    const before = await active(production);
    await releaseOnCanary(agent('C'));
    const promotion = promote(ada, 'baked');
    await promotion.event(({ step, status }) => step === 'bake' && status === 'running');
    expect(await active(production)).not.toBe(before);
    await writeFile(flagOf('C'), '');
    expect(await promotion.code, await promotion.text()).toBe(2);
    expect(await ended(promotion)).toMatchObject({ outcome: 'rolled_back' });
    expect(await active(production)).toBe(before);
    expect(await production.ask('Hello')).toContain('this is B');
    await rm(flagOf('C'));
    const held = promote(ada, 'plain');
    expect(await held.code).toBe(4);
    expect((await ended(held))['reason']).toContain('are stopped: it is on hold');
    const unheld = await bo.did((context, file) =>
      runHoldCommand(context, false, 'production', { config: file, reason: 'fixed' }),
    );
    expect(unheld.code, unheld.text).toBe(0);
    expect(unheld.text).toContain('"event":"hold"');
    // Without the hold, the same artifact is considered again: it is quarantined, because production rolled back from
    // it.
    expect((await ended(promote(ada, 'plain')))['reason']).not.toContain('are stopped: it is on hold');
  });
});

describe('the schedule of a promotion', () => {
  it('is applied once, shows differences, and is paused with its reason', async () => {
    const dry = await scheduled((context, file) => runScheduleApply(context, { config: file, dryRun: true }));
    expect(dry).toContain('"event":"schedule_change"');
    expect(dry).toContain('"kind":"create"');
    const none = await scheduled((context, file) => runScheduleList(context, { config: file }));
    expect(none).not.toContain('"event":"schedule"');
    await scheduled((context, file) => runScheduleApply(context, { config: file }));
    expect(await pause(true)).toContain('bo: not yet');
    const again = await scheduled((context, file) => runScheduleApply(context, { config: file }));
    expect(again).toContain('"kind":"unchanged"');
    const list = await scheduled((context, file) => runScheduleList(context, { config: file }));
    expect(list).toContain('"paused":true');
    const plan = await scheduled((context, file) =>
      runPlanCommand(context, 'promotion', undefined, { config: file, days: 7 }),
    );
    expect(plan).toContain('"event":"planned"');
  });

  it('starts immediately if a person triggers it while it is paused, and that person may not approve it', async () => {
    await releaseOnCanary(agent('T'));
    await scheduled((context, file) => runScheduleApply(context, { config: file }));
    await pause(true, 'scheduled');
    await pause(true, 'triggered');
    const trigger = () =>
      scheduled((context, file) =>
        runScheduleTrigger(context, 'triggered', { config: file, reason: 'it cannot wait' }),
      );
    expect(await trigger()).toContain('"disposition":"started"');
    expect(await trigger()).toContain('"disposition":"joined"');
    await eventually(async () => {
      const { code, text } = await say(bo, 'approve', 'triggered');
      expect(code, text).toBe(4);
      expect(text).toContain('the person who asked for it cannot approve it');
    });
    expect((await say(bo, 'reject', 'triggered', { reason: 'enough' })).code).toBe(0);
    await noTurnRuns();
  });

  it.runIf(WITH_OUTAGES)(
    'makes one promotion for three times that pass while the worker is down',
    async () => {
      await noTurnRuns();
      await releaseOnCanary(agent('E'));
      const before = (await production.shippedRevisions()).length;
      await stack.worker.kill();
      const passed = await timesPass(() => pause(false));
      await stack.startWorker();
      await onlyOneMore(before, passed);
    },
  );

  it.runIf(WITH_OUTAGES)('makes one promotion for three times that pass while Temporal is down', async () => {
    await noTurnRuns();
    await releaseOnCanary(agent('F'));
    const before = (await production.shippedRevisions()).length;
    const passed = await timesPass(async () => {
      await stack.worker.kill();
      await pause(false);
      await stack.temporal.kill();
      await new Promise((resolve) => setTimeout(resolve, 3 * EVERY_MS));
      await stack.startTemporal();
      await stack.startWorker();
    });
    await onlyOneMore(before, passed);
  });
});

async function scheduled(command: Parameters<Person['did']>[0]): Promise<string> {
  const { code, text } = await bo.did(command);
  expect(code, text).toBe(0);
  return text;
}

function pause(paused: boolean, name = 'scheduled'): Promise<string> {
  return scheduled((context, file) =>
    runSchedulePause(context, paused, name, { config: file, reason: 'not yet' }),
  );
}

/** Waits until exactly one more revision was shipped, and the next scheduled start has shipped none. */
async function onlyOneMore(before: number, passed: { untilOneMore(): Promise<void> }): Promise<void> {
  await eventually(async () => expect(await production.shippedRevisions()).toHaveLength(before + 1));
  await passed.untilOneMore();
  await noTurnRuns();
  expect(await production.shippedRevisions()).toHaveLength(before + 1);
  await pause(true);
}

async function noTurnRuns(): Promise<void> {
  const client = await stack.client();
  await eventually(async () => {
    const running = "WorkflowType IN ('promotionTurn', 'promotion') AND ExecutionStatus = 'Running'";
    const { count } = await client.workflow.count(running);
    expect(count).toBe(0);
  });
}

/** How many starts Temporal counts for the schedule. */
async function times(): Promise<number> {
  const client = await stack.client();
  for await (const { scheduleId } of client.schedule.list()) {
    if (!scheduleId.endsWith(':scheduled')) continue;
    const { info } = await client.schedule.getHandle(scheduleId).describe();
    return info.numActionsTaken + info.numActionsSkippedOverlap + info.numActionsMissedCatchupWindow;
  }
  throw new Error('there is no schedule');
}

/** Lets three scheduled starts pass after an action. `untilOneMore` resolves after one more. */
async function timesPass(from: () => Promise<unknown>): Promise<{ untilOneMore(): Promise<void> }> {
  const before = await times();
  await from();
  const reached = (count: number) =>
    eventually(async () => expect(await times()).toBeGreaterThanOrEqual(count));
  await reached(before + 3);
  return { untilOneMore: async () => reached((await times()) + 1) };
}
