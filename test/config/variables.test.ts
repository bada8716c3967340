import { describe, expect, it } from 'vitest';

import type { Config } from '../../src/config/configSchema.ts';
import { lintText } from '../../src/config/loadConfig.ts';
import { parseConfig } from './parseConfig.ts';

const ENVIRONMENT = {
  SLIPWAY_VAR_STAGE: 'acceptance',
  SLIPWAY_VAR_EMPTY: '',
  SLIPWAY_VAR_COUNT: '3',
  SLIPWAY_VAR_COMMIT: '12e4567',
  SLIPWAY_VAR_BRACES: '{ a: 1 }',
  SLIPWAY_VAR_STOLEN: 'a-secret-value',
  DEPLOY_TOKEN: 'a-secret-value',
  HOME: '/home/ada',
};

function withLine(line: string): string {
  return `targets:
  staging:
    controlPlane: http://localhost:8000
    apiKey: { from: env:KEY }
    ${line}
`;
}

function read(line: string): Config['targets'][string] | undefined {
  return parseConfig(withLine(line), 'slipway.yaml', ENVIRONMENT).targets['staging'];
}

function problemsOf(line: string): readonly string[] {
  return lintText(withLine(line), 'slipway.yaml', ENVIRONMENT).problems.map(
    (problem) => `${problem.line}:${problem.column} ${problem.message}`,
  );
}

describe('a variable', () => {
  it.each([
    ['has the value that its environment variable has', 'greeter-${vars.STAGE}', 'greeter-acceptance'],
    ['may stand there more than once', '"${vars.STAGE}-${vars.STAGE}"', 'acceptance-acceptance'],
    ['has its default where it is not set', 'greeter-${vars.REGION:-eu}', 'greeter-eu'],
    ['has its default where it is empty', 'greeter${vars.EMPTY:-!}', 'greeter!'],
    ['may be empty without one', 'greeter${vars.EMPTY}', 'greeter'],
    ['stays a text in quotes', '"${vars.COUNT}"', '3'],
    ['stays a text that only happens to read as a number', '${vars.COMMIT}', '12e4567'],
    ['is no YAML', 'greeter ${vars.BRACES}', 'greeter { a: 1 }'],
    ['is nothing but what is written with "vars."', '${HOME} ${STAGE} $STAGE', '${HOME} ${STAGE} $STAGE'],
  ])('%s', (_, written, expected) => {
    expect(read(`deployment: ${written}`)?.deployment).toBe(expected);
  });

  it('that is a whole value becomes a number', () => {
    expect(read('deployment: a\n    approval:\n      required: ${vars.COUNT}')?.approval?.required).toBe(3);
  });
});

describe('an invalid variable', () => {
  it.each([
    [
      'a variable that is not set',
      'greeter-${vars.REGION}',
      '5:17 SLIPWAY_VAR_REGION is not set, and there is no default: ${vars.REGION:-text}',
    ],
    [
      'a value that is a secret under another name',
      '${vars.STOLEN}',
      '5:17 SLIPWAY_VAR_STOLEN has the value of DEPLOY_TOKEN: reference a secret as env:DEPLOY_TOKEN',
    ],
    [
      'a name that is none',
      '${vars.some-name}',
      '5:17 a variable is written as ${vars.NAME}, or with a default as ${vars.NAME:-text}',
    ],
  ])('is %s', (_, written, expected) => {
    expect(problemsOf(`deployment: ${written}`)).toEqual([expected]);
  });

  it('is reported without its value', () => {
    const told = JSON.stringify(lintText(withLine('queue: ${vars.STAGE}'), 'f', ENVIRONMENT).problems);
    expect(told).toContain('${vars.STAGE}');
    expect(told).not.toContain('acceptance');
  });
});
