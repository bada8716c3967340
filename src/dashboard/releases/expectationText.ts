import type { Expectation } from '../../domain/check/expectation.ts';
import type { ExpectedCall } from '../../domain/check/trajectory.ts';
import { durationText } from '../page/times.tsx';

/** An expectation as a sentence. */
export function expectationText(expect: Expectation): string {
  return ['the run ends in ' + (expect.status ?? 'success'), ...parts({ ...expect, status: undefined })].join(
    '; ',
  );
}

function parts(expect: Expectation): readonly string[] {
  const { status, contains, matches, path, equals, jsonSchema, number, tools, not, anyOf } = expect;
  const { allOf = [], reference } = expect;
  const { maxToolCalls, maxTokens, maxLatencyMs } = expect;
  const what = path === undefined ? 'the answer' : `“${path}”`;
  return [
    ...(status === undefined ? [] : [`the run ends in ${status}`]),
    ...(contains === undefined ? [] : [`${what} contains “${contains}”`]),
    ...(matches === undefined ? [] : [`${what} matches /${matches}/`]),
    ...(equals === undefined ? [] : [`${what} equals ${JSON.stringify(equals)}`]),
    ...(jsonSchema === undefined ? [] : [`${what} fits the JSON Schema ${JSON.stringify(jsonSchema)}`]),
    ...(number === undefined ? [] : [`${what} is ${numberText(number)}`]),
    ...(tools === undefined ? [] : [`tool calls (${tools.mode ?? 'strict'}): ${callsText(tools.calls)}`]),
    ...(maxToolCalls === undefined ? [] : [`at most ${maxToolCalls} tool calls`]),
    ...(maxTokens === undefined ? [] : [`at most ${maxTokens} tokens`]),
    ...(maxLatencyMs === undefined ? [] : [`within ${durationText(maxLatencyMs)}`]),
    ...(not === undefined ? [] : [`not (${parts(not).join('; ')})`]),
    ...(anyOf === undefined ? [] : [anyOf.map((part) => `(${parts(part).join('; ')})`).join(' or ')]),
    ...(reference === undefined ? [] : [`${what} ${reference} the row’s reference`]),
    ...allOf.flatMap(parts),
  ];
}

function numberText({ equals, tolerance, min, max }: NonNullable<Expectation['number']>): string {
  return [
    ...(equals === undefined ? [] : [tolerance === undefined ? `${equals}` : `${equals} ± ${tolerance}`]),
    ...(min === undefined ? [] : [`at least ${min}`]),
    ...(max === undefined ? [] : [`at most ${max}`]),
  ].join(', ');
}

function callsText(calls: readonly ExpectedCall[]): string {
  if (calls.length === 0) return 'none';
  return calls
    .map(({ name, args }) => (args === undefined ? name : `${name}(${JSON.stringify(args)})`))
    .join(', ');
}
