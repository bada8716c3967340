import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { ciLog, reportErrorInCi, reportInCi } from '../../../src/cli/ci/reportInCi.ts';
import type { CommandContext } from '../../../src/cli/context.ts';
import { ConfigError } from '../../../src/config/configError.ts';
import { SlipwayError } from '../../../src/domain/errors.ts';
import { useFolders } from '../../support/temporaryFolder.ts';
import { testOutput } from '../testOutput.ts';

const folder = useFolders();
let context: CommandContext & { readonly output: ReturnType<typeof testOutput> };
beforeEach(() => {
  const environment = {
    GITHUB_ACTIONS: 'true',
    GITHUB_STEP_SUMMARY: join(folder(), 'summary'),
    GITHUB_OUTPUT: join(folder(), 'outputs'),
  };
  context = { output: testOutput(), home: folder(), environment };
});

function told(): Promise<readonly string[]> {
  return Promise.all(['summary', 'outputs'].map((name) => readFile(join(folder(), name), 'utf8')));
}

describe('a command in CI that followed nothing to its end', () => {
  const outputs = { 'release-id': 'release-4' };

  it('that was rejected has an annotation, a summary and outputs, with advice', async () => {
    const title = 'release-4 on production: rejected';
    const why = ['sha256:aa is in quarantine', 'slipway unquarantine production sha256:aa'];
    await reportInCi(context, { exitCode: 4, title, why, outputs: { ...outputs, outcome: 'rejected' } });
    expect(context.output.said).toEqual([
      `::warning title=release-4 on production%3A rejected::${why.join('%0A')}`,
    ]);
    expect(await told()).toEqual([
      `## ✖ ${title}\n\n${why.join('\n\n')}\n`,
      'release-id=release-4\noutcome=rejected\n',
    ]);
  });

  it('that timed out has an error annotation, because the job fails', async () => {
    const title = 'release-4 on production: not watched to its end';
    await reportInCi(context, { exitCode: 5, title, why: ['timed out'], outputs });
    expect(context.output.said).toEqual([
      '::error title=release-4 on production%3A not watched to its end::timed out',
    ]);
    expect(await told()).toEqual([`## ✖ ${title}\n\ntimed out\n`, 'release-id=release-4\n']);
  });

  it('that did not wait outputs its release, without an annotation', async () => {
    const title = 'release-4 on production: queued';
    await reportInCi(context, { exitCode: 0, title, why: ['starting'], outputs });
    expect(context.output.said).toEqual([]);
    expect(await told()).toEqual([`## ✔ ${title}\n\nstarting\n`, 'release-id=release-4\n']);
  });

  it('that failed has an annotation with the code and advice', async () => {
    const error = new SlipwayError('SLIPWAY_USAGE', "unknown command 'relese'", {
      hint: 'See: slipway --help',
    });
    await reportErrorInCi(context, error);
    expect(context.output.said).toEqual([
      "::error title=SLIPWAY_USAGE::unknown command 'relese'%0ASee: slipway --help",
    ]);
    expect(await told()).toEqual([
      "## ✖ SLIPWAY_USAGE\n\nunknown command 'relese'\n\nSee: slipway --help\n",
      'error-code=SLIPWAY_USAGE\n',
    ]);
  });
});

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
