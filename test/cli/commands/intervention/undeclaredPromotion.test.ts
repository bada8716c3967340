import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { WorkflowNotFoundError } from '@temporalio/client';
import { beforeEach, describe, expect, it, vi } from 'vitest';

import { runInterventionCommand } from '../../../../src/cli/commands/intervention/intervene.ts';
import { useFolders } from '../../../support/temporaryFolder.ts';
import { answeringTemporal } from '../../../temporal/client/answeringTemporal.ts';
import { testOutput } from '../../testOutput.ts';

vi.mock('../../../../src/cli/openTemporal.ts', () => ({
  withTemporal: (_: unknown, work: (temporal: unknown) => unknown) => work(temporal()),
}));

const running = new Set<string>();
const asked: string[] = [];

function temporal() {
  const getHandle = (workflowId: string) => ({
    describe: () =>
      running.has(workflowId)
        ? Promise.resolve({ status: { name: 'RUNNING' } })
        : Promise.reject(new WorkflowNotFoundError('gone', workflowId, undefined)),
    executeUpdate: () => {
      asked.push(workflowId);
      return Promise.resolve({ disposition: 'taken', note: 'it stops' });
    },
  });
  return answeringTemporal({ workflow: { getHandle } });
}

const folder = useFolders();
beforeEach(() => {
  running.clear();
  asked.length = 0;
});

/** @param to - where the file says that the promotion leads. */
async function abort(promotion: string, target?: string, to?: string): Promise<readonly string[]> {
  const config = join(folder(), 'slipway.yaml');
  const at = 'controlPlane: "http://127.0.0.1:1", apiKey: { from: "env:KEY" }';
  const promotions = to === undefined ? '' : `promotions: { ${promotion}: { from: staging, to: ${to} } }\n`;
  await writeFile(
    config,
    `targets: { staging: { ${at}, deployment: s }, live: { ${at}, deployment: l }, eu: { ${at}, deployment: e } }\n${promotions}`,
  );
  const output = testOutput();
  const context = { output, home: folder(), environment: {} };
  await runInterventionCommand(context, 'abort', target, { config, promotion });
  return output.said;
}

describe('a promotion that slipway.yaml no longer has', () => {
  it('is aborted by its name while it runs', async () => {
    running.add('promotion:http://127.0.0.1:1:l:onward');
    expect(await abort('onward')).toEqual(['abort onward: it stops']);
    expect(asked).toEqual([...running]);
  });

  it('is not found if it does not run', async () => {
    await expect(abort('onward')).rejects.toMatchObject({ code: 'SLIPWAY_PROMOTION_UNKNOWN' });
  });

  it('is named with its target if several run', async () => {
    for (const deployment of ['s', 'l']) running.add(`promotion:http://127.0.0.1:1:${deployment}:onward`);
    await expect(abort('onward')).rejects.toMatchObject({
      code: 'SLIPWAY_USAGE',
      hint: 'name one of its targets: slipway abort staging --promotion onward',
    });
    await abort('onward', 'live');
    expect(asked).toEqual(['promotion:http://127.0.0.1:1:l:onward']);
  });
});

describe('a promotion whose "to" was changed in slipway.yaml', () => {
  const earlier = 'promotion:http://127.0.0.1:1:l:onward';
  const later = 'promotion:http://127.0.0.1:1:e:onward';

  it('is aborted at the target to which it runs', async () => {
    running.add(earlier);
    expect(await abort('onward', undefined, 'eu')).toEqual(['abort onward: it stops']);
    expect(asked).toEqual([earlier]);
  });

  it('is aborted by its target if it also runs to the new one', async () => {
    for (const each of [earlier, later]) running.add(each);
    await abort('onward', undefined, 'eu');
    await abort('onward', 'live', 'eu');
    expect(asked).toEqual([later, earlier]);
  });

  it('is not found at a target to which it does not run', async () => {
    running.add(later);
    await expect(abort('onward', 'live', 'eu')).rejects.toMatchObject({
      code: 'SLIPWAY_USAGE',
      message: 'promotion "onward" leads to "eu", and none runs to "live"',
    });
    expect(asked).toEqual([]);
  });
});
