import { expect, it } from 'vitest';

import { previewLines } from '../../../../src/cli/commands/preview/preview.ts';
import { styleOf } from '../../../../src/cli/ui/text.ts';

const PREVIEW = {
  workflowId: 'preview:http://plane.test:greeter-pr-7',
  name: 'pull-request',
  pr: 7,
  deployment: 'greeter-pr-7',
  phase: 'idle',
  createdAt: '2026-01-01T00:00:00.000Z',
  renewedAt: '2026-01-01T01:00:00.000Z',
  expiresAt: '2026-01-02T01:00:00.000Z',
  agentUrl: 'http://agent.test',
  outcome: 'rolled_back',
  problem: null,
} as const;

it('the list of previews shows the state, age, expiry and problem of each', () => {
  const failing = {
    ...PREVIEW,
    pr: 8,
    phase: 'removal_failed',
    agentUrl: null,
    problem: 'the control plane is away',
  } as const;
  const now = Date.parse('2026-01-01T03:00:00.400Z');
  expect(previewLines([PREVIEW, failing], { style: styleOf(false), columns: 200, now })).toEqual([
    'PULL REQUEST  PREVIEW       DEPLOYMENT    STATE           AGE    EXPIRES IN  ADDRESS',
    '#7            pull-request  greeter-pr-7  rolled back     3h00m  22h00m      http://agent.test',
    '#8            pull-request  greeter-pr-7  removal failed  3h00m  22h00m',
    '#8: the control plane is away',
  ]);
});
