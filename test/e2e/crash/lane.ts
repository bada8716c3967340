import { Stack } from '../stack.ts';
import type { Cell } from './cells.ts';
import { type CrashEnding, type CrashRelease, crashRelease } from './crashRelease.ts';
import { Ground } from './ground.ts';

/** Consecutive releases on one deployment. */
export interface Course {
  readonly releases: readonly CrashRelease[];
  /** Whether it begins without a deployment; otherwise it uses the lane's. */
  readonly fresh: boolean;
}

/** Called with each ended release. */
export type Report = (ending: CrashEnding) => void;

/** The course of a single cell: the fewest releases that reach its moment. */
export function courseOf(cell: Cell): Course {
  return { releases: [{ scenario: scenarioOf(cell), cells: [cell] }], fresh: cell.step === 'create' };
}

function scenarioOf({ step }: Cell): CrashRelease['scenario'] {
  switch (step) {
    case 'create':
      return 'first';
    case 'baseline check':
      return 'over a foreign one';
    case 'redeploy':
    case 'deployed again':
    case 'serving again':
    case 'check again':
      return 'bad';
    default:
      return 'next';
  }
}

/**
 * Runs courses in lanes, each with its own stack, so that a death affects no other lane.
 * @returns every ending; its problems include broken rules.
 */
export async function runCourses(
  courses: readonly Course[],
  lanes: number,
  report: Report = () => undefined,
): Promise<readonly CrashEnding[]> {
  const waiting = [...courses];
  const all = await Promise.all(
    Array.from({ length: Math.min(lanes, courses.length) }, async () => {
      const endings: CrashEnding[] = [];
      while (waiting.length > 0) endings.push(...(await runLane(waiting, report)));
      return endings;
    }),
  );
  return all.flat();
}

/** Takes courses until none is left or one fails. After a failure, the next course gets a new stack. */
async function runLane(waiting: Course[], report: Report): Promise<readonly CrashEnding[]> {
  const stack = await Stack.start({}, { gated: true });
  const endings: CrashEnding[] = [];
  let main: Ground | undefined;
  let grounds = 0;
  const newGround = (): Promise<Ground> => Ground.create(stack, `ground-${++grounds}`);
  try {
    for (let course = waiting.shift(); course !== undefined; course = waiting.shift()) {
      const ground = course.fresh ? await newGround() : (main ??= await newGround());
      for (const release of course.releases) {
        const ending = await crashRelease(stack, ground, release);
        endings.push(ending);
        report(ending);
        if (ending.problems.length > 0) return await audited(stack, endings);
      }
      if (course.fresh) await ground.remove();
    }
    return await audited(stack, endings);
  } finally {
    await stack.stop();
  }
}

/** Adds broken rules to the releases that broke them. */
async function audited(stack: Stack, endings: readonly CrashEnding[]): Promise<readonly CrashEnding[]> {
  const violations = await stack.audit();
  const assigned = new Set<unknown>();
  const withProblems = endings.map((ending) => {
    const mine = violations.filter(({ workflowId }) => workflowId === ending.workflowId);
    for (const violation of mine) assigned.add(violation);
    const problems = [...ending.problems, ...mine.map(({ rule, what }) => `rule ${rule}: ${what}`)];
    return { ...ending, problems };
  });
  const others = violations.filter((violation) => !assigned.has(violation));
  const last = withProblems.at(-1);
  if (last === undefined || others.length === 0) return withProblems;
  const problems = others.map(({ rule, workflowId, what }) => `rule ${rule} in ${workflowId}: ${what}`);
  return [...withProblems.slice(0, -1), { ...last, problems: [...last.problems, ...problems] }];
}
