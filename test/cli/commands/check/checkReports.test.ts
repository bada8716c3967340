import { expect, it } from 'vitest';

import { junitReport } from '../../../../src/cli/commands/check/checkReports.ts';
import type { CheckResult } from '../../../../src/cli/events/checks.ts';

const PASSED: CheckResult = {
  ...{
    check: 'greets',
    passed: true,
    reasons: [],
    answer: 'Hello',
    runId: 'run-1',
    latencyMs: 1_500,
    error: null,
  },
};

it('a report has a test case for each check, and tells failures from errors', () => {
  const failed = {
    ...PASSED,
    check: 'says "bye" & <goes>',
    passed: false,
    reasons: ['too late', 'too\u0000loud'],
  };
  const error = { code: 'SLIPWAY_UNREACHABLE', message: 'the connection\nwas refused' } as const;
  const away = { ...PASSED, check: 'is there', passed: false, answer: '', latencyMs: 0, error };
  expect(junitReport('http://agent.test', [PASSED, failed, away], 3_000)).toBe(
    `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" errors="1" time="3.000">
  <testsuite name="http://agent.test" tests="3" failures="1" errors="1" time="3.000">
    <testcase name="greets" classname="slipway check" time="1.500"/>
    <testcase name="says &quot;bye&quot; &amp; &lt;goes&gt;" classname="slipway check" time="1.500">
      <failure message="too late" type="SLIPWAY_CHECK_FAILED">too late
too\uFFFDloud
answered Hello</failure>
    </testcase>
    <testcase name="is there" classname="slipway check" time="0.000">
      <error message="the connection&#10;was refused" type="SLIPWAY_UNREACHABLE"></error>
    </testcase>
  </testsuite>
</testsuites>
`,
  );
});

it('a report has the scores of evaluators as properties, also of a check that passed', () => {
  const of = { minScore: 0.5, comment: null, noScore: 'it is away' };
  const scores = [
    { evaluator: 'tone', scores: [0.9, null], ...of },
    { evaluator: 'facts', scores: [1, 0.25], ...of },
  ];
  const failed = { ...PASSED, passed: false, reasons: ['too curt'], scores };
  const report = junitReport('http://agent.test', [{ ...PASSED, scores }, failed], 1_000);
  const properties = `      <properties>
        <property name="score.tone" value="0.9"/>
        <property name="score.tone" value="none"/>
        <property name="score.facts" value="1"/>
        <property name="score.facts" value="0.25"/>
      </properties>
`;
  expect(report).toContain(`time="1.500">\n${properties}    </testcase>`);
  expect(report).toContain(`${properties}      <failure message="too curt"`);
});
