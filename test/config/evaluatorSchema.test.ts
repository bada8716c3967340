import { describe, expect, it } from 'vitest';

import { errorsIn } from './errorsIn.ts';
import { parseConfig } from './parseConfig.ts';

const fileOf = (check: string): string => `targets:
  local: { controlPlane: http://127.0.0.1:1, apiKey: { from: env:NONE }, deployment: greeter }
checks:
  - { name: greets, assistant: agent, ${check} }
`;

const evaluator = (fields: string): string =>
  `evaluators: [{ name: tone, url: "https://e.example/tone", ${fields} }]`;

describe('evaluators in slipway.yaml', () => {
  it('have a time of 30 s for a call, and let a run without a score pass', () => {
    const { checks } = parseConfig(
      fileOf(`${evaluator('minScore: 0.7')}, reference: { city: Rome }`),
      '',
      {},
    );
    expect(checks[0]).toMatchObject({
      evaluators: [
        {
          ...{ name: 'tone', url: 'https://e.example/tone', minScore: 0.7 },
          ...{ timeoutMs: 30_000, onNoScore: 'pass' },
        },
      ],
      reference: { city: 'Rome' },
    });
    expect(checks[0]?.evaluators?.[0]).not.toHaveProperty('secret');
  });

  it.each([
    [
      evaluator('minScore: 1.2'),
      /evaluators.0.minScore: expected a score above 0, at most 1: no run has more/,
    ],
    [evaluator('minScore: 0'), /evaluators.0.minScore: expected a score above 0, at most 1: every run has 0/],
    [evaluator('minScore: high'), /evaluators.0.minScore: expected a score above 0, at most 1/],
    [evaluator('timeout: 5s'), /evaluators.0.minScore/],
    [evaluator('minScore: 0.7, timeout: 0s'), /evaluators.0.timeout: expected more than 0s/],
    [evaluator('minScore: 0.7, minscore: 1'), /evaluators.0.minscore: .*did you mean "minScore"/],
    [evaluator('minScore: 0.7, onNoScore: ignore'), /evaluators.0.onNoScore/],
    [evaluator('minScore: 0.7, secret: the-secret-itself'), /evaluators.0.secret: .*never the secret itself/],
    [evaluator('minScore: 0.7').replace('https', 'ftp'), /evaluators.0.url: expected an http or https URL/],
    ['evaluators: []', /evaluators: expected at least one evaluator/],
    [
      evaluator('minScore: 0.7').replace(/\[(.*)\]/, '[$1, $1]'),
      /evaluators.1.name: two evaluators are named "tone": rename one/,
    ],
    ['reference: Rome', /reference: has no effect without evaluators/],
  ])('are refused: %s', (check, message) => {
    expect(errorsIn(fileOf(check))).toMatch(message);
  });

  it('need a step whose deadline covers a call', () => {
    const check = `timeout: 60s, repeat: 2, ${evaluator('minScore: 0.7, timeout: 40s')}`;
    const text = `${fileOf(check)}steps: { check: { startToClose: 3m } }\n`;
    expect(errorsIn(text)).toContain('steps.check.startToClose: ');
    expect(errorsIn(text.replace('3m', '4m'))).toBe('');
  });
});
