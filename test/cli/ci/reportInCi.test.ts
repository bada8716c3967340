import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { reportErrorInCi, reportInCi } from '../../../src/cli/ci/reportInCi.ts';
import type { CommandContext } from '../../../src/cli/context.ts';
import { SlipwayError } from '../../../src/domain/errors.ts';
import { testOutput } from '../testOutput.ts';
import { temporaryFolder } from '../../support/temporaryFolder.ts';

let folder: string;
let context: CommandContext & { readonly output: ReturnType<typeof testOutput> };
beforeEach(async () => {
  folder = await temporaryFolder();
  const environment = {
    GITHUB_ACTIONS: 'true',
    GITHUB_STEP_SUMMARY: join(folder, 'summary'),
    GITHUB_OUTPUT: join(folder, 'outputs'),
  };
  context = { output: testOutput(), home: folder, environment };
});

function told(): Promise<readonly string[]> {
  return Promise.all(['summary', 'outputs'].map((name) => readFile(join(folder, name), 'utf8')));
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
