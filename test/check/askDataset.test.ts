import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { datasetDecision } from '../../src/check/askDataset.ts';
import { datasetProblem, fewestRowsToShow } from '../../src/domain/check/dataset.ts';
import { randomFrom } from '../../src/judge/random.ts';

const decide = (passed: number, made: number, planned: number, passRate?: number) =>
  datasetDecision({ passed, made, planned }, passRate).decision;

describe('the rows of a dataset', () => {
  it.each([
    [188, 200, 'passed'],
    [187, 200, 'undecided'],
    [173, 200, 'undecided'],
    [172, 200, 'failed'],
  ])('%i of %i that pass, where 0.9 of them must, have %s', (passed, rows, decision) => {
    expect(decide(passed, rows, rows, 0.9)).toBe(decision);
  });

  it('have failed as soon as those that are not asked yet cannot change it', () => {
    expect(decide(0, 27, 200, 0.9)).toBe('open');
    expect(decide(0, 28, 200, 0.9)).toBe('failed');
  });

  it('have passed only when all were asked, since each has a result', () => {
    expect(decide(199, 199, 200, 0.9)).toBe('open');
  });

  it('must all pass where no rate is named, so the first that fails decides', () => {
    expect(decide(3, 3, 3)).toBe('passed');
    expect(decide(2, 2, 3)).toBe('open');
    expect(decide(2, 3, 100)).toBe('failed');
  });

  it.each([
    [0.8, 14],
    [0.9, 29],
    [0.95, 59],
    [0.99, 299],
  ])('that show a pass rate of %d are at least %i', (passRate, rows) => {
    expect(fewestRowsToShow(passRate)).toBe(rows);
    expect(decide(rows, rows, rows, passRate)).toBe('passed');
    expect(decide(rows - 1, rows - 1, rows - 1, passRate)).toBe('undecided');
    expect(datasetProblem({ rows, passRate })).toBeUndefined();
    expect(datasetProblem({ rows: rows - 1, passRate })).toContain(`it takes ${rows} rows`);
    expect(datasetProblem({ rows: rows - 1, passRate, undecided: 'pass' })).toBeUndefined();
  });
});

/** An agent that answers a share of the rows rightly. */
interface Agents {
  readonly passRate: number;
  readonly good: number;
  readonly bad: number;
}

const AT_90: Agents = { passRate: 0.9, good: 0.97, bad: 0.85 };
const AT_95: Agents = { passRate: 0.95, good: 0.98, bad: 0.9 };

/**
 * Rows; the fewest that pass and the most that fail, by SciPy 1.17.1: `beta.ppf(0.05, k, n - k + 1) >= passRate`,
 * `beta.ppf(0.95, k + 1, n - k) < passRate`; the good agent: `binom.cdf(passes - 1, n, good)`, `binom.cdf(fails, n, good)`;
 * the bad one: `binom.sf(passes - 1, n, bad)`, `binom.sf(fails, n, bad)`.
 */
const SCIPY = [
  [AT_90, 50, 49, 40, 0.44472012669268435, 2.0176946878667663e-6, 0.0029054528729423957, 0.7910936696678907],
  [AT_90, 100, 96, 84, 0.18214519392435816, 5.283081700826453e-8, 0.0004255138170392382, 0.5683151651257146],
  [
    AT_90,
    200,
    188,
    172,
    0.007832959766414679,
    1.7978724212865346e-11,
    6.500736845661228e-5,
    0.3165914691150649,
  ],
  [
    AT_90,
    400,
    371,
    349,
    5.867265801390996e-6,
    7.669945986057788e-18,
    1.6854261770771274e-6,
    0.08941320441921796,
  ],
  [AT_95, 100, 99, 90, 0.5967282892179959, 3.441680604304303e-5, 0.00032168805319411577, 0.451290165442004],
  [AT_95, 200, 196, 184, 0.3711564198711838, 3.4417436801375434e-6, 8.416395494962713e-6, 0.1430754340423252],
  [
    AT_95,
    500,
    484,
    466,
    0.02574135345477995,
    1.19847371901765e-9,
    5.7453918903232685e-9,
    0.0049468216769324525,
  ],
] as const;

const DRAWS = 10_000;

describe('the probability of a wrong verdict on a dataset', () => {
  it.each(SCIPY)(
    'of %o with %i rows has the thresholds that SciPy gives',
    ({ passRate }, rows, passes, fails) => {
      const decisions = Array.from({ length: rows + 1 }, (_, passed) => decide(passed, rows, rows, passRate));
      expect(decisions.indexOf('passed')).toBe(passes);
      expect(decisions.lastIndexOf('failed')).toBe(fails);
    },
  );

  it('is seen in 10,000 draws, and stands in the docs', () => {
    const page = readFileSync(new URL('../../docs/checks.md', import.meta.url), 'utf8');
    const cellsOf = (line: string) =>
      line
        .split('|')
        .map((cell) => cell.trim())
        .slice(1, -1);
    const table = page.split('\n').map(cellsOf);
    const random = randomFrom(1);
    for (const [agents, rows, passes, , unshown, shownBad, missed, notShown] of SCIPY) {
      const { passRate } = agents;
      const good = draw(agents.good, rows, passRate, random);
      const bad = draw(agents.bad, rows, passRate, random);
      for (const [exact, drawn] of [
        [unshown, 1 - good.passed],
        [shownBad, good.failed],
        [missed, bad.passed],
        [notShown, 1 - bad.failed],
      ] as const) {
        expect(Math.abs(exact - drawn)).toBeLessThan(4 * Math.sqrt((exact * (1 - exact)) / DRAWS) + 1e-3);
      }
      const of = `\`passRate: ${passRate * 100}%\``;
      const fail = [unshown, 1 - good.passed, missed, bad.passed];
      const pass = [shownBad, good.failed, notShown, 1 - bad.failed];
      const shares = (of: readonly number[]) => of.map((share) => `${(100 * share).toFixed(1)} %`);
      expect(table).toContainEqual([of, `${rows}`, `${passes}`, ...shares(fail), ...shares(pass)]);
    }
  });
});

/** How often an agent that answers a share of the rows rightly passes and fails. */
function draw(right: number, rows: number, passRate: number, random: () => number) {
  const known = new Map<number, string>();
  let [passedAll, failedAll] = [0, 0];
  for (let drawn = 0; drawn < DRAWS; drawn++) {
    let passed = 0;
    for (let row = 0; row < rows; row++) if (random() < right) passed += 1;
    const decision = known.get(passed) ?? decide(passed, rows, rows, passRate);
    known.set(passed, decision);
    if (decision === 'passed') passedAll += 1;
    if (decision === 'failed') failedAll += 1;
  }
  return { passed: passedAll / DRAWS, failed: failedAll / DRAWS };
}
