import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { tellErrorInCi, tellRejection } from '../../../src/cli/ci/tellRefusal.ts';
import type { CommandContext } from '../../../src/cli/context.ts';
import { SlipwayError } from '../../../src/domain/errors.ts';
import { testOutput } from '../testOutput.ts';

let folder: string;
let context: CommandContext & { readonly output: ReturnType<typeof testOutput> };
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'slipway-ci-'));
  const environment = {
    GITHUB_ACTIONS: 'true',
    GITHUB_STEP_SUMMARY: join(folder, 'summary'),
    GITHUB_OUTPUT: join(folder, 'outputs'),
  };
  context = { output: testOutput(), home: folder, environment };
});
afterEach(() => rm(folder, { recursive: true }));

function told(): Promise<readonly string[]> {
  return Promise.all(['summary', 'outputs'].map((name) => readFile(join(folder, name), 'utf8')));
}

describe('what never ran, in CI', () => {
  it('a rejected release stands at the run, in the summary and in the outputs', async () => {
    const reason = 'sha256:aa is in quarantine';
    await tellRejection(context, 'production', { releaseId: 'release-4', reason });
    expect(context.output.said).toEqual([`::warning title=release-4 on production%3A rejected::${reason}`]);
    expect(await told()).toEqual([
      `## ✖ release-4 on production: rejected\n\n${reason}\n`,
      'release-id=release-4\noutcome=rejected\n',
    ]);
  });

  it('an error stands there with its code and what to do', async () => {
    const error = new SlipwayError('SLIPWAY_USAGE', "unknown command 'relese'", {
      hint: 'See: slipway --help',
    });
    await tellErrorInCi(context, error);
    expect(context.output.said).toEqual([
      "::error title=SLIPWAY_USAGE::unknown command 'relese'%0ASee: slipway --help",
    ]);
    expect(await told()).toEqual([
      "## ✖ SLIPWAY_USAGE\n\nunknown command 'relese'. See: slipway --help\n",
      'error-code=SLIPWAY_USAGE\n',
    ]);
  });
});
