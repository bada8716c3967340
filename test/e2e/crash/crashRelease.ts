import { inspect } from 'node:util';

import type { Outcome } from '../../../src/domain/release/outcome.ts';
import type { ReleaseResult } from '../../../src/domain/release/release.ts';
import { PASS } from '../faultProxy.ts';
import type { Process } from '../processes.ts';
import { eventually, type Stack } from '../stack.ts';
import { type Cell, cellName } from './cells.ts';
import type { Ground, Version } from './ground.ts';
import { type KillPoint, placeKillPoints } from './killPoint.ts';
import { agentProcesses, type Asking, kill } from './victims.ts';

/** What is released, and what serves before. */
type Scenario =
  /** A good version, without a deployment yet. */
  | 'first'
  /** A good version, after another one. */
  | 'next'
  /** A good version, after one that Slipway did not deploy. */
  | 'over a foreign one'
  /** A bad version, after a good one, which is restored. */
  | 'bad'
  /** A bad version, after a good one that Slipway did not deploy. */
  | 'bad over a foreign one';

/** A release during which processes die, in the order of its steps. */
export interface CrashRelease {
  readonly scenario: Scenario;
  readonly cells: readonly Cell[];
}

/** The result of such a release. */
export interface CrashEnding {
  readonly cells: readonly Cell[];
  readonly outcome: Outcome | 'stuck' | 'broken';
  readonly problems: readonly string[];
  readonly duplicates: number;
  /** The time from each death to the release's end. */
  readonly seconds: readonly number[];
  /** The release's workflow, if it was started. */
  readonly workflowId: string | undefined;
}

/** A release that has reached neither its next death nor its end after this time is stuck. */
const STUCK_AFTER_MS = 240_000;
/** Conditions after the end must become true within this time. */
const SETTLED_WITHIN_MS = 60_000;

class Stuck extends Error {}

/** Runs a release, kills the victims, and compares the result with the expected one. */
export async function crashRelease(
  stack: Stack,
  ground: Ground,
  { scenario, cells }: CrashRelease,
): Promise<CrashEnding> {
  const deaths: number[] = [];
  let asking: Asking | undefined;
  const seconds = (): number[] => deaths.map((at) => (performance.now() - at) / 1_000);
  try {
    if (scenario !== 'first') await ground.makeReady();
    if (scenario.endsWith('foreign one')) await ground.changeBehindItsBack();
    const before = scenario === 'first' ? 0 : (await ground.seen.shippedRevisions()).length;
    const version = await ground.nextVersion(scenario.startsWith('bad') ? 'bad' : 'good');
    const slowStart = {
      forward: version.slowStart,
      restoring: ground.serving?.slowStart ?? version.slowStart,
    };
    const latest = scenario === 'first' ? null : (await ground.seen.deployment()).latest_revision_id;
    const killPoints = placeKillPoints(stack, cells, slowStart, latest);
    asking = askFor(ground);
    await die(stack, ground, asking, killPoints, deaths);
    const code = await within(STUCK_AFTER_MS, asking.command.exited);
    const took = seconds();
    const expected = scenario.startsWith('bad')
      ? ({ outcome: 'rolled_back', code: 2, serving: ground.serving } as const)
      : ({ outcome: 'released', code: 0, serving: version } as const);
    const result = endingOf(asking.command);
    const problems = [
      ...(code === expected.code ? [] : [`the command ended with ${code}`]),
      ...(scenario.endsWith('foreign one') && result?.baseline?.verified !== true
        ? ['the baseline was not verified']
        : []),
      ...(result?.outcome === expected.outcome ? [] : [`it ended ${result?.outcome ?? 'without a result'}`]),
      ...(await wrongWith(stack, ground, result, expected.serving)),
    ];
    const made = (await ground.seen.shippedRevisions()).length - before;
    if (made !== 1) problems.push(`it made ${made} revisions`);
    if (expected.serving !== undefined) ground.serves(expected.serving);
    return {
      cells,
      outcome: result?.outcome ?? 'broken',
      problems: problems.length === 0 ? [] : [...problems, storyOf(asking.command, stack)],
      duplicates: Math.max(made - 1, 0),
      seconds: took,
      workflowId: workflowOf(asking.command),
    };
  } catch (error) {
    const what = inspect(error);
    return {
      cells,
      outcome: error instanceof Stuck ? 'stuck' : 'broken',
      problems: [what, ...(asking === undefined ? [] : [storyOf(asking.command, stack)])],
      duplicates: 0,
      seconds: seconds(),
      workflowId: asking === undefined ? undefined : workflowOf(asking.command),
    };
  } finally {
    stack.proxy.rule = PASS;
    stack.proxy.answerRule = () => undefined;
    stack.gate.rule = () => undefined;
    await asking?.command.kill();
  }
}

function askFor({ project }: Ground): Asking {
  const again = (): Process => project.run('release', 'staging', '--json');
  return { command: again(), again };
}

/** Executes the deaths, one after the other. */
async function die(
  stack: Stack,
  ground: Ground,
  asking: Asking,
  killPoints: readonly KillPoint[],
  deaths: number[],
): Promise<void> {
  for (const killPoint of killPoints) {
    const { cell } = killPoint;
    const { command } = asking;
    const ended = command.exited.then(() => {
      // Another command has replaced this one.
      if (asking.command !== command) return;
      throw new Error(`the release ended before ${cellName(cell)}`);
    });
    await within(STUCK_AFTER_MS, Promise.race([killPoint.met, ended]));
    deaths.push(performance.now());
    const startAgain = await kill(cell.victim, { stack, ground, asking });
    // A new command must find the release at the same point. For all other victims, the release continues before the
    // restart.
    if (cell.victim === 'cli') await startAgain();
    await killPoint.goOn();
    if (cell.victim !== 'cli') await startAgain();
  }
}

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Stuck(`nothing came of it within ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Problems of the final state: what serves, and what is left over. */
async function wrongWith(
  stack: Stack,
  ground: Ground,
  result: ReleaseResult | undefined,
  serving: Version | undefined,
): Promise<readonly string[]> {
  const problems: string[] = [];
  if (result !== undefined && result.extraRevisionIds.length > 0) {
    problems.push(`extra revisions: ${result.extraRevisionIds.join(', ')}`);
  }
  const { id, active_revision_id: active } = await ground.seen.deployment();
  if (result !== undefined && result.servingRevisionId !== active) {
    problems.push(`revision ${active ?? 'none'} serves instead of ${result.servingRevisionId ?? 'none'}`);
  }
  const count = await ground.deployments();
  if (count !== 1) problems.push(`there are ${count} deployments of that name`);
  const settled = async (what: () => Promise<void>): Promise<void> => {
    try {
      await eventually(what, SETTLED_WITHIN_MS);
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  };
  await settled(async () => {
    const answer = await ground.seen.ask('Hello, I am Ada');
    if (serving === undefined || !answer.includes(`"${serving.says}"`))
      throw new Error(`it answers ${answer}`);
  });
  await settled(async () => {
    const agents = (await agentProcesses(stack, id)).map(({ revisionId }) => revisionId);
    if (agents.join() !== active) throw new Error(`agents of these revisions run: ${agents.join(', ')}`);
  });
  return problems;
}

function endingOf(command: Process): ReleaseResult | undefined {
  const ended = command.lines.find(({ event }) => event === 'ended');
  return (ended?.['result'] ?? undefined) as ReleaseResult | undefined;
}

function workflowOf(command: Process): string | undefined {
  const started = command.lines.find(({ event }) => event === 'started');
  return started === undefined ? undefined : String(started['workflowId']);
}

/** The output of the release and its worker, for the report of a failure. */
function storyOf(command: Process, stack: Stack): string {
  return [command.stdout, command.stderr, 'worker:', stack.worker.stderr.slice(-4_000)].join('\n');
}
