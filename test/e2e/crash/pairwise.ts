import {
  type Cell,
  type Moment,
  MOMENTS,
  type Step,
  STEPS,
  type Victim,
  VICTIMS,
  whyNoCell,
} from './cells.ts';
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

/** Every step with every victim, each in the moment that brings the most pairs which were not there before. */
export function pairwiseCells(): readonly Cell[] {
  const seen = new Set<string>();
  const news = (cell: Cell): number => pairsOf(cell).filter((pair) => !seen.has(pair)).length;
  return STEPS.flatMap((step) =>
    VICTIMS.flatMap((victim) => {
      const moments = MOMENTS.filter((moment) => whyNoCell({ step, moment, victim }) === undefined);
      const best = moments.reduce<Moment | undefined>((chosen, moment) => {
        const better =
          chosen === undefined || news({ step, moment, victim }) > news({ step, moment: chosen, victim });
        return better ? moment : chosen;
      }, undefined);
      if (best === undefined) return [];
      const cell = { step, moment: best, victim };
      for (const pair of pairsOf(cell)) seen.add(pair);
      return [cell];
    }),
  );
}

/** What two of a cell's three coordinates say. */
export function pairsOf({ step, moment, victim }: Cell): readonly string[] {
  return [`${step}, ${moment}`, `${step}, ${victim}`, `${moment}, ${victim}`];
}

/** Victims take turns: from one step to the next, and from one course to the next. */
function courseOf(step: Step, victim: Victim): number {
  const turn = VICTIMS.indexOf(victim) - STEPS.indexOf(step);
  return ((turn % VICTIMS.length) + VICTIMS.length) % VICTIMS.length;
}
