import { allCells, type Cell, CONTROL_PLANES, type Step, STEPS, type Victim, VICTIMS } from './cells.ts';
import type { Course } from './lane.ts';

/** The steps in which a course's first release is hit. No agent serves yet that could die. */
const FIRST: ReadonlySet<Step> = new Set(['create', 'serving', 'check', 'record']);

/**
 * A selection that covers every pair of step and victim, of step and moment, and of victim and moment. It has one
 * course per victim. Each course hits every step once, so each release survives several deaths in a row.
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

/** Every step with every victim, each in the moment that adds the most new pairs. */
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

/** All pairs of a cell's coordinates; a control plane is paired only with the step. */
export function pairsOf({ step, moment, victim, controlPlane }: Cell): readonly string[] {
  return [`${step}, ${moment}`, `${step}, ${victim}`, `${moment}, ${victim}`, `${controlPlane}, ${step}`];
}

/** Rotates victims over steps and courses. */
function courseOf(step: Step, victim: Victim): number {
  const turn = VICTIMS.indexOf(victim) - STEPS.indexOf(step);
  return ((turn % VICTIMS.length) + VICTIMS.length) % VICTIMS.length;
}
