import { allCells, type Cell, CONTROL_PLANES, type Step, STEPS, type Victim, VICTIMS } from './cells.ts';
import type { Course } from './lane.ts';

/**
 * What the first release of a course is hit in: it makes the deployment that the second one is put back on. Until it
 * serves there is no agent that could die.
 */
const FIRST: ReadonlySet<Step> = new Set(['create', 'serving', 'check', 'record']);

/**
 * A selection in which every step meets every victim, every step is met in each of its moments, and every victim dies
 * in each of them. It takes as many courses as there are victims: in each, every step is hit once, so that each
 * release survives several deaths in a row.
 */
export function pairwiseCourses(): readonly Course[] {
  const cells = pairwiseCells();
  return VICTIMS.map((_, course) => {
    const mine = cells.filter(({ step, victim }) => courseOf(step, victim) === course);
    return {
      fresh: true,
      releases: [
        { scenario: 'first', cells: mine.filter(({ step }) => FIRST.has(step)) },
        { scenario: 'bad over a foreign one', cells: mine.filter(({ step }) => !FIRST.has(step)) },
      ],
    };
  });
}

/**
 * Every step with every victim, each in the moment that brings the most pairs which were not there before. Control planes
 * take turns over the victims of a step.
 */
function pairwiseCells(): readonly Cell[] {
  const seen = new Set<string>();
  const news = (cell: Cell): number => pairsOf(cell).filter((pair) => !seen.has(pair)).length;
  return STEPS.flatMap((step) =>
    VICTIMS.flatMap((victim, turn) => {
      const cells = allCells().filter((cell) => cell.step === step && cell.victim === victim);
      const like = CONTROL_PLANES.filter((one) => cells.some(({ controlPlane }) => controlPlane === one));
      const controlPlane = like[turn % like.length];
      const [first, ...others] = cells.filter((cell) => cell.controlPlane === controlPlane);
      if (first === undefined) return [];
      const best = others.reduce((chosen, cell) => (news(cell) > news(chosen) ? cell : chosen), first);
      for (const pair of pairsOf(best)) seen.add(pair);
      return [best];
    }),
  );
}

/** What two of a cell's four coordinates say; of a control plane, which step it was met in. */
export function pairsOf({ step, moment, victim, controlPlane }: Cell): readonly string[] {
  return [`${step}, ${moment}`, `${step}, ${victim}`, `${moment}, ${victim}`, `${controlPlane}, ${step}`];
}

/** Victims take turns: from one step to the next, and from one course to the next. */
function courseOf(step: Step, victim: Victim): number {
  const turn = VICTIMS.indexOf(victim) - STEPS.indexOf(step);
  return ((turn % VICTIMS.length) + VICTIMS.length) % VICTIMS.length;
}
