import { describe, expect, it } from 'vitest';

import { unansweredLines } from '../../../../src/cli/commands/status/statusLines.ts';
import type { Unanswered } from '../../../../src/cli/commands/status/targetStatus.ts';
import { styleOf } from '../../../../src/cli/ui/text.ts';
import type { WorkFact } from '../../../../src/domain/audit/facts.ts';
import { SlipwayError } from '../../../../src/domain/errors.ts';
import type { DeploymentSeen } from '../../../../src/inspection/deployment/deploymentAccess.ts';
import type { KeptTarget } from '../../../../src/temporal/history/keptTarget.ts';

const NOW = Date.parse('2026-11-21T12:10:00.000Z');
const SCREEN = { now: NOW, style: styleOf(false), columns: Infinity };

const kept: KeptTarget = { running: null, servingRevisionId: 'r1', ended: [], messages: [] };
const unanswered: Unanswered = {
  silence: new SlipwayError('SLIPWAY_NO_WORKER', 'no worker polls the task queue "slipway"'),
  kept,
};
const SEEN: DeploymentSeen = { deploymentId: 'd', activeRevisionId: 'r2', latestRevisionId: 'r2' };

function lines(change: Partial<Unanswered> = {}, deployment: DeploymentSeen | string = SEEN): string[] {
  const told = unansweredLines({ ...unanswered, ...change }, { deployment }, SCREEN);
  return told.map((line) => line.trim());
}

describe('the status of a target without a worker', () => {
  it('names the task queue, what serves according to the control plane, and what is unknown', () => {
    expect(lines()).toEqual([
      'no worker polls the task queue "slipway": this comes from Temporal and the control plane',
      'serves   revision r2, according to the control plane',
      'known    revision r1, as the target last knew',
      'running  nothing',
      expect.stringMatching(/^unknown {2}.*hold, quarantine/),
    ]);
  });

  it('reports a newer revision than the serving one', () => {
    const deployment = { deploymentId: 'd', activeRevisionId: null, latestRevisionId: 'r3' };
    expect(lines({}, deployment).slice(1, 3)).toEqual([
      'serves   nothing, according to the control plane',
      'newest   revision r3',
    ]);
  });

  it('falls back to the target’s last knowledge if the control plane cannot be reached', () => {
    expect(lines({}, 'it refused the key').slice(1, 3)).toEqual([
      'serves   revision r1, as the target last knew',
      'what serves is not known: it refused the key',
    ]);
  });

  it('lists the pending calls of the running work, and what waits for a worker', () => {
    const call = { input: {}, endedAt: null, result: null, mayHaveBeenTaken: true };
    const running = {
      workflowId: 'target:x:greeter/release-7',
      startedAt: NOW - 60_000,
      activities: [
        { ...call, name: 'findDeployment', scheduledAt: NOW - 55_000, outcome: 'completed' },
        { ...call, name: 'awaitDeployed', scheduledAt: NOW - 50_000, outcome: 'open' },
      ],
    } as unknown as WorkFact;
    const at = new Date(NOW - 5_000).toISOString();
    const said = { workflowId: 'target:x:greeter', at, reason: null };
    const messages = [
      { ...said, message: 'rollback', who: 'ada', reason: 'it\n  lies' },
      { ...said, message: 'hold', who: null },
    ];
    expect(lines({ kept: { ...kept, running, messages } }).slice(3, 7)).toEqual([
      'running  release-7, for 1m00s, by its history',
      'awaitDeployed has not ended, since 50.0s',
      'kept     rollback by ada (it lies), sent 5.0s ago: it waits for a worker',
      'kept     hold, sent 5.0s ago: it waits for a worker',
    ]);
  });
});
