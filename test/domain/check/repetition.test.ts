import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { decisionOf, repetitionProblem, repetitionsText } from '../../../src/domain/check/repetition.ts';
import { randomFrom } from '../../../src/judge/random.ts';

describe('repetitions', () => {
  it.each([
    [{ passed: 0, made: 0, needed: 4, planned: 5 }, 'open'],
    [{ passed: 3, made: 4, needed: 4, planned: 5 }, 'open'],
    [{ passed: 4, made: 4, needed: 4, planned: 5 }, 'passed'],
    [{ passed: 0, made: 2, needed: 4, planned: 5 }, 'failed'],
  ] as const)('%j are %s', (repetitions, decision) => {
    expect(decisionOf(repetitions)).toBe(decision);
  });

  it('are told with what was needed', () => {
    const tally = { passed: 4, made: 5, planned: 5 };
    expect(repetitionsText({ ...tally, needed: 4 })).toBe('4 of 5 runs passed, 4 of 5 must pass');
    expect(repetitionsText({ ...tally, needed: 5 })).toBe('4 of 5 runs passed, all 5 must pass');
  });

  it.each([
    [{ repeat: 5, pass: 6 }, '5 runs cannot pass 6 times: lower pass, or raise repeat'],
    [{ pass: 1 }, 'has no effect without repeat'],
    [{ repeat: 5, pass: 5 }, undefined],
    [{ repeat: 5 }, undefined],
  ])('%j: %s', (check, problem) => {
    if (problem === undefined) expect(repetitionProblem(check)).toBeUndefined();
    else expect(repetitionProblem(check)).toContain(problem);
  });
});

const GOOD = 0.95;
const BAD = 0.6;
const DRAWS = 10_000;

/** `repeat`, `pass`; SciPy 1.17.1: `binom.cdf(pass - 1, repeat, 0.95)`, `binom.sf(pass - 1, repeat, 0.6)`. */
const SCIPY = [
  [1, 1, 0.050000000000000044, 0.6],
  [3, 2, 0.007250000000000012, 0.6479999999999999],
  [3, 3, 0.1426250000000001, 0.21599999999999997],
  [5, 3, 0.0011581250000000031, 0.68256],
  [5, 4, 0.02259250000000004, 0.3369599999999999],
  [10, 8, 0.0115035573792969, 0.16728975359999992],
  [20, 17, 0.015901526019763607, 0.01596116279000825],
] as const;

describe('the probability of a wrong verdict', () => {
  it('is the one that SciPy gives, in 10,000 draws, although repetitions end once they are decided, and stands in the docs', () => {
    const page = readFileSync(new URL('../../../docs/checks.md', import.meta.url), 'utf8');
    const random = randomFrom(1);
    for (const [planned, needed, falseAlarm, miss] of SCIPY) {
      const good = draw(planned, needed, GOOD, random);
      const bad = draw(planned, needed, BAD, random);
      expect(Math.abs(1 - good.passed - falseAlarm)).toBeLessThan(4 * deviation(falseAlarm));
      expect(Math.abs(bad.passed - miss)).toBeLessThan(4 * deviation(miss));
      const cells = [
        `\`repeat: ${planned}, pass: ${needed}\``,
        ...[falseAlarm, 1 - good.passed, miss, bad.passed].map((share) => `${(100 * share).toFixed(1)} %`),
        good.runs.toFixed(1),
      ];
      const rows = page.split('\n').map((line) =>
        line
          .split('|')
          .map((cell) => cell.trim())
          .slice(1, -1),
      );
      expect(rows).toContainEqual(cells);
    }
  });
});

/** How often repetitions of an agent that answers rightly with this probability pass, and how many runs they take. */
function draw(planned: number, needed: number, right: number, random: () => number) {
  let [passedAll, runs] = [0, 0];
  for (let drawn = 0; drawn < DRAWS; drawn++) {
    let [passed, made] = [0, 0];
    while (decisionOf({ passed, made, needed, planned }) === 'open') {
      made += 1;
      if (random() < right) passed += 1;
    }
    runs += made;
    if (decisionOf({ passed, made, needed, planned }) === 'passed') passedAll += 1;
  }
  return { passed: passedAll / DRAWS, runs: runs / DRAWS };
}

function deviation(share: number): number {
  return Math.sqrt((share * (1 - share)) / DRAWS);
}
