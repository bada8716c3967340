import { describe, expect, it } from 'vitest';

import { stuckFindings } from '../../../../src/cli/commands/doctor/findings.ts';
import type { Finding } from '../../../../src/cli/events/checks.ts';
import { failed, stuckTemporal } from '../../../temporal/client/stuckTemporal.ts';

const STUCK = { attempt: 5, events: [failed('[TMPRL1100] Nondeterminism error')] };

async function found(findings: AsyncIterable<Finding>): Promise<Finding[]> {
  const all: Finding[] = [];
  for await (const finding of findings) all.push(finding);
  return all;
}

describe('the doctor', () => {
  it('reports no workflow that workers can continue', async () => {
    const { temporal } = stuckTemporal({ 'target:a': {}, 'target:b': { attempt: 1 } });
    expect(await found(stuckFindings(temporal, false))).toMatchObject([
      { name: 'workflows', state: 'ok', exitCode: 0 },
    ]);
  });

  it('names each stuck workflow, the reason and the remedy, and exits 3', async () => {
    const { temporal, terminated } = stuckTemporal({ 'target:a': STUCK, 'target:b': {}, 'target:c': STUCK });
    const stuck = (workflowId: string): object => ({
      state: 'missing',
      detail: expect.stringMatching(
        `^SLIPWAY_WORKFLOW_STUCK: ${workflowId}: .* 5 times .*TMPRL1100`,
      ) as string,
      fix: 'slipway doctor --fix',
      exitCode: 3,
    });
    expect(await found(stuckFindings(temporal, false))).toMatchObject([stuck('target:a'), stuck('target:c')]);
    expect(terminated).toEqual([]);
  });

  it('terminates with --fix only stuck runs, and starts their targets again', async () => {
    const workflows = { 'target:a': STUCK, 'target:b': {}, 'target:b/release-1': STUCK };
    const { temporal, terminated, started } = stuckTemporal(workflows);
    expect(await found(stuckFindings(temporal, true))).toMatchObject([
      { state: 'ok', detail: 'target:a: terminated and started again' },
      { state: 'ok', detail: 'target:b/release-1: terminated' },
    ]);
    const why = 'its workflow task failed again and again';
    expect(terminated).toEqual([
      ['target:a', 'run of target:a', why],
      ['target:b/release-1', 'run of target:b/release-1', why],
    ]);
    expect(started).toEqual(['target:a']);
  });

  it('starts a target again that another person has just terminated', async () => {
    const { temporal, started } = stuckTemporal({ 'target:a': { ...STUCK, isGone: true } });
    expect(await found(stuckFindings(temporal, true))).toMatchObject([{ state: 'ok' }]);
    expect(started).toEqual(['target:a']);
  });
});
