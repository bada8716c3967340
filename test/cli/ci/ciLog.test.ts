import { describe, expect, it } from 'vitest';

import { ciLog } from '../../../src/cli/ci/reportInCi.ts';
import { ConfigError } from '../../../src/config/configError.ts';
import { SlipwayError } from '../../../src/domain/errors.ts';
import { testOutput } from '../testOutput.ts';

const GITHUB = { GITHUB_ACTIONS: 'true', GITHUB_WORKSPACE: '/w' };

describe('a log on GitHub', () => {
  it('has groups, each closed once', () => {
    const output = testOutput();
    const close = ciLog({ output, environment: GITHUB }).open('step by step');
    close();
    close();
    expect(output.said).toEqual(['::group::step by step', '::endgroup::']);
  });

  it('escapes annotations, so that they contain no further command', () => {
    const output = testOutput();
    ciLog({ output, environment: GITHUB }).annotate('error', 'a: b, c', '100 %\n::set-output name=x::y');
    expect(output.said).toEqual(['::error title=a%3A b%2C c::100 %25%0A::set-output name=x::y']);
  });

  it('shows problems of slipway.yaml at their lines, and any other error with advice', () => {
    const output = testOutput();
    const log = ciLog({ output, environment: GITHUB });
    const place = { file: '/w/a/slipway.yaml', line: 3, column: 5, length: 1, excerpt: 'x' };
    log.annotateError(
      new ConfigError('/w/a/slipway.yaml', [
        { ...place, severity: 'error', path: 'targets.a', message: 'no' },
        { ...place, severity: 'warning', path: '', message: 'hm' },
      ]),
    );
    log.annotateError(new SlipwayError('SLIPWAY_NO_WORKER', 'no worker', { hint: 'start one' }));
    expect(output.said).toEqual([
      '::error file=a/slipway.yaml,line=3,col=5,title=slipway.yaml::targets.a: no',
      '::warning file=a/slipway.yaml,line=3,col=5,title=slipway.yaml::hm',
      '::error title=SLIPWAY_NO_WORKER::no worker%0Astart one',
    ]);
  });
});

describe('a log elsewhere', () => {
  it('has sections on GitLab, each with a unique name', () => {
    const output = testOutput();
    const log = ciLog({ output, environment: { GITLAB_CI: 'true' } });
    log.open('one')();
    log.open('two')();
    log.annotate('error', 't', 'm');
    expect(output.said.map((line) => line.replace(/:\d+:/, ':T:').replaceAll('\u001b[0K', ''))).toEqual([
      'section_start:T:slipway_1\rone',
      'section_end:T:slipway_1\r',
      'section_start:T:slipway_2\rtwo',
      'section_end:T:slipway_2\r',
    ]);
  });

  it.each([
    ['another CI', { CI: 'true' }, false],
    ['a terminal', {}, false],
    ['GitHub with --json', GITHUB, true],
  ])('stays unchanged: %s', (_where, environment, json) => {
    const output = testOutput({ json });
    const log = ciLog({ output, environment });
    log.open('x')();
    log.annotate('error', 't', 'm');
    log.annotateError(new Error('x'));
    expect([...output.said, ...output.noted, ...output.events]).toEqual([]);
  });
});
