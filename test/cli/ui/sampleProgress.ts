import type { InterventionRecord } from '../../../src/domain/intervention/intervention.ts';
import type {
  CheckVerdict,
  Progress,
  ReleaseResult,
  StepRecord,
} from '../../../src/domain/release/release.ts';
import { result } from '../../domain/target/targets.ts';

/** A step that took a second. */
export function sampleStep(step: Partial<StepRecord> & Pick<StepRecord, 'step'>): StepRecord {
  return {
    restoring: false,
    startedAt: '2026-11-21T12:00:00.000Z',
    endedAt: '2026-11-21T12:00:01.000Z',
    status: 'done',
    attempts: 1,
    ...step,
  };
}

export function runningStep(step: Partial<StepRecord> & Pick<StepRecord, 'step'>): StepRecord {
  const { endedAt: _endedAt, attempts: _attempts, ...rest } = sampleStep(step);
  return { ...rest, status: 'running' };
}

export function sampleVerdict(verdict: Partial<CheckVerdict>): CheckVerdict {
  return {
    check: 'greets',
    revisionId: 'revision-1',
    passed: true,
    reasons: [],
    answer: 'Hello, Ada!',
    runId: 'run-1',
    latencyMs: 12,
    feedbackRecorded: null,
    ...verdict,
  };
}

/** A pause that bo asked for. */
export function sampleIntervention(change: Partial<InterventionRecord>): InterventionRecord {
  const at = '2026-11-21T12:09:00.000Z';
  return { id: 'i', kind: 'pause', by: { who: 'bo', from: 'cli' }, at, taken: true, note: '', ...change };
}

export function sampleProgress(
  steps: readonly StepRecord[],
  verdicts: readonly CheckVerdict[] = [],
): Progress {
  return {
    releaseId: 'release-1',
    kind: 'release',
    phase: 'running',
    startedAt: '2026-11-21T12:00:00.000Z',
    deploymentId: null,
    revisionId: null,
    baseline: null,
    steps,
    verdicts,
    outcome: null,
    instructions: null,
    waiting: null,
    interventions: [],
  };
}

export function sampleResult(changes: Partial<ReleaseResult>): ReleaseResult {
  return result('release-1', {
    deploymentId: 'deployment-1',
    artifact: 'sha256:aa',
    requestKey: 'sha256:bb',
    reason: 'it serves',
    revisionId: 'revision-2',
    baseline: { revisionId: 'revision-1', verified: true },
    servingRevisionId: 'revision-2',
    agentUrl: 'http://agent',
    requestedBy: { who: 'ada', from: 'cli' },
    startedAt: '2026-11-21T12:00:00.000Z',
    endedAt: '2026-11-21T12:00:12.300Z',
    ...changes,
  });
}
