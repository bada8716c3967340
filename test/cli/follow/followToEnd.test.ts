import { expect, it } from 'vitest';

import { followPromotion } from '../../../src/cli/ci/followPromotionInCi.ts';
import { followToEnd } from '../../../src/cli/follow/followToEnd.ts';
import { SlipwayError } from '../../../src/domain/errors.ts';
import type { TargetSpec } from '../../../src/domain/target/targetSpec.ts';
import type { TemporalConnection } from '../../../src/temporal/client/connection.ts';
import { testOutput } from '../testOutput.ts';

const { signal } = new AbortController();
const output = testOutput();

/** A Temporal whose answers are encrypted with a key that the command does not have. */
const temporal = {
  client: {
    workflow: {
      getHandle: () => ({
        query: () =>
          Promise.reject(
            new SlipwayError('SLIPWAY_PAYLOAD_KEY_MISSING', 'the key "2026-12" is missing', {
              hint: 'add it',
            }),
          ),
      }),
    },
    withDeadline: (_deadline: number, call: () => unknown) => call(),
  },
  settings: {},
} as unknown as TemporalConnection;

const followed = {
  id: 'release-1',
  targetName: 'production',
  spec: {} as TargetSpec,
  workflowId: 'target:x:greeter',
  timeoutMs: 60_000,
};

it.each(['release', 'rollback'] as const)(
  'a followed %s whose answers need a missing key continues: the error says so, and has the exit code 5',
  async (asked) => {
    const ended = followToEnd(
      { output, home: '', environment: {} },
      temporal,
      { ...followed, asked },
      signal,
    );
    await expect(ended).rejects.toMatchObject({
      code: 'SLIPWAY_PAYLOAD_KEY_MISSING',
      exitCode: 5,
      message: `the key "2026-12" is missing; the ${asked} continues`,
      hint: 'add it; then: slipway watch production',
    });
  },
);

it('so does a followed promotion', async () => {
  const promotion = { name: 'up', workflowId: 'promotion:up', dashboardUrl: null, timeoutMs: 60_000 };
  await expect(followPromotion(output, temporal, promotion, signal)).rejects.toMatchObject({
    exitCode: 5,
    message: 'the key "2026-12" is missing; the promotion continues',
  });
});
