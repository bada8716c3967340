import { describe, expect, it } from 'vitest';

import { errorsIn } from './errorsIn.ts';

const fileOf = (check: string): string => `targets:
  local: { controlPlane: http://127.0.0.1:1, apiKey: { from: env:NONE }, deployment: greeter }
checks:
  - { name: greets, assistant: agent, ${check} }
`;

const DATASET = 'dataset: { path: questions.jsonl }';

describe('a check with a dataset in slipway.yaml', () => {
  it('needs a pass rate below 1 for undecided rows', () => {
    expect(errorsIn(fileOf(`${DATASET}, passRate: 90%, undecided: pass`))).toBe('');
  });

  it.each([
    ['passRate: 90%', /checks.0.passRate: has no effect without a dataset/],
    ['undecided: pass', /checks.0.undecided: has no effect without a dataset/],
    [`${DATASET}, input: { city: Rome }`, /checks.0.input: each row has its own: leave it out/],
    [
      `${DATASET}, turns: [{ input: {} }, { input: {} }]`,
      /checks.0.turns: a row is one run: leave turns out/,
    ],
    [`${DATASET}, repeat: 3`, /checks.0.repeat: each row is asked once: use passRate/],
    [`${DATASET}, repeat: 3, pass: 2`, /checks.0.pass: each row is asked once: use passRate/],
    [`${DATASET}, undecided: pass`, /checks.0.undecided: has no effect where all rows must pass \(100 %\)/],
    [`${DATASET}, passRate: 100%, undecided: pass`, /checks.0.undecided: has no effect where all rows must/],
  ])('is refused: %s', (check, message) => {
    expect(errorsIn(fileOf(check))).toMatch(message);
  });
});
