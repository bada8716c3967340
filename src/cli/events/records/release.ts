import { z } from 'zod';

import { ERROR_CATALOGUE, type ErrorCode } from '../../../domain/errors.ts';
import {
  INTERVENTION_KINDS,
  type InterventionRecord as RecordedIntervention,
} from '../../../domain/intervention.ts';
import * as domain from '../../../domain/release.ts';
import { STEP_NAMES } from '../../../domain/step.ts';
import type { RunningCall as RunningCallOf } from '../../../temporal/runningCall.ts';
import { Count, Instant, maybe, openWords } from '../fields.ts';
import { mirrorOf } from '../mirror.ts';

/** A code of the catalogue. */
export const Code = openWords(
  Object.keys(ERROR_CATALOGUE) as [ErrorCode, ...ErrorCode[]],
  'those of docs/errors.md',
);

export const Actor = mirrorOf<domain.Actor>()(
  z.strictObject({
    who: z.string().describe('A person or a machine'),
    from: z.string().describe('Where the request came from: the URL of a CI run, `cli`, `signal`'),
    reason: maybe(z.string()),
  }),
).meta({ id: 'Actor', description: 'Who asked, from where, and why' });

export const Outcome = z.enum(domain.OUTCOMES);

export const Kind = z.enum(['release', 'rollback']);

export const StepName = openWords(STEP_NAMES);

export const StepRecord = mirrorOf<domain.StepRecord>()(
  z.strictObject({
    step: StepName,
    subject: maybe(z.string()).describe('What the step was about: the name of a check, the id of a revision'),
    restoring: z.boolean().describe('Whether it belongs to putting a revision back'),
    startedAt: Instant,
    endedAt: maybe(Instant),
    attempts: maybe(Count),
    status: z.enum(['running', 'done', 'failed', 'canceled', 'skipped']),
    detail: maybe(z.string()).describe('What came of it, in a few words'),
  }),
).meta({ id: 'StepRecord', description: 'One step as it went' });

export const CheckVerdict = mirrorOf<domain.CheckVerdict>()(
  z.strictObject({
    check: z.string(),
    revisionId: z.string(),
    passed: z.boolean(),
    reasons: z.array(z.string()).describe('Why not: one sentence for each expectation that did not hold'),
    answer: z.string().describe('The answer of the agent, shortened'),
    answerRecord: maybe(z.string()).describe('The record in the artifact store that holds the whole answer'),
    runId: z.string().nullable(),
    latencyMs: z.number(),
    feedbackRecorded: z
      .boolean()
      .nullable()
      .describe('Whether the verdict was recorded at the trace of the run; `null`: that was not asked for'),
  }),
).meta({ id: 'CheckVerdict', description: 'The verdict of one check on one revision' });

export const JudgementRecord = mirrorOf<domain.JudgementRecord>()(
  z.strictObject({
    verdict: z.enum(['passed', 'failed', 'inconclusive', 'errored']),
    reasons: z.array(z.string()).describe('What the verdict rests on: one sentence each'),
    baselineRevisionId: z.string(),
    candidateRevisionId: z.string(),
    report: z.string().describe('The name of the report among the records of the artifact store'),
    at: Instant,
  }),
).meta({ id: 'JudgementRecord', description: 'What the judge found of the candidate of a promotion' });

export const Baseline = mirrorOf<domain.Baseline>()(
  z.strictObject({
    revisionId: z.string().nullable(),
    verified: z.boolean(),
    silent: maybe(z.string()).describe(
      'Why no call to its agent worked under the settings of the release; absent: one did, or none was tried',
    ),
  }),
).meta({ id: 'Baseline', description: 'The revision that was active before anything was changed' });

export const KnownRevision = mirrorOf<domain.KnownRevision>()(
  z.strictObject({
    revisionId: z.string(),
    verified: z.boolean(),
    artifact: maybe(z.string()).describe('The identity of its artifact, where the target shipped it'),
    checks: maybe(z.string()).describe(
      'The digest of the checks that it passed, under which the artifact store keeps them',
    ),
    skipped: maybe(z.literal(true)).describe('A person skipped checks of it'),
    release: maybe(z.string()).describe('The release that it belongs to; absent: the target did not make it'),
    commit: maybe(z.string()).describe('The commit that its artifact was made from'),
    copyOf: maybe(z.string()).describe('The revision that a redeploy copied'),
    at: Instant.describe('When it was verified, or found not to be'),
    quarantined: maybe(z.literal(true)).describe('A person rolled back from it: it is put back only by name'),
  }),
).meta({ id: 'KnownRevision', description: 'What a target knows of a revision that it has dealt with' });

export const RollbackRequest = mirrorOf<domain.RollbackRequest>()(
  z.strictObject({
    requestId: z.string(),
    to: maybe(z.string()).describe('The revision to go back to; with `from`, the target has chosen it'),
    from: maybe(z.string()).describe('The revision to leave, where a person named none to go back to'),
    requestedBy: Actor,
  }),
).meta({ id: 'RollbackRequest', description: 'A request to put an earlier revision back' });

export const InterventionRecord = mirrorOf<RecordedIntervention>()(
  z.strictObject({
    id: z.string(),
    kind: openWords([...INTERVENTION_KINDS, 'preempt', 'unknown']).describe(
      '`preempt`: of the target, for a rollback; `unknown`: a signal under a name that nobody knows',
    ),
    what: maybe(z.string()).describe(
      'What a `skip` leaves out: the name of a check, `soak`, `judge`, `freeze`',
    ),
    by: Actor,
    at: Instant,
    taken: z.boolean().describe('`false`: it was said at the wrong moment, and changed nothing'),
    note: z.string().describe('What it did, or the moment at which it came'),
  }),
).meta({
  id: 'InterventionRecord',
  description: 'What was said to a release or a promotion, and what came of it',
});

export const Waiting = mirrorOf<domain.Waiting>()(
  z.strictObject({
    for: z.enum(['resume', 'approval', 'decision', 'freeze']),
    since: Instant,
    until: Instant.describe('When it waits no longer'),
    note: z.string().describe('What it waits for, in words'),
    approvers: maybe(z.array(z.string())).describe('Who may approve'),
  }),
).meta({ id: 'Waiting', description: 'What it waits for: a person to say something, or a freeze to end' });

export const RunningCall = mirrorOf<RunningCallOf>()(
  z.strictObject({
    says: z.string().describe('What it found last, or why its last attempt failed'),
    since: Instant.describe('Since when that is so'),
    until: Instant.nullable().describe('When it is given up; `null`: it has no deadline'),
  }),
).meta({ id: 'RunningCall', description: 'What the step under way waits for' });

export const Call = RunningCall.nullable().describe(
  'What the step under way found last; `null`: it has said nothing',
);

export const BuildLog = z
  .array(z.string())
  .describe('While a revision is deployed: the newest lines of its build');

export const Progress = mirrorOf<domain.Progress>()(
  z.strictObject({
    releaseId: z.string().describe('Of a promotion its name'),
    kind: z.enum(['release', 'rollback', 'promotion']),
    phase: z.string().describe('What it does at this moment, in words'),
    startedAt: Instant,
    deploymentId: z.string().nullable(),
    revisionId: z.string().nullable(),
    baseline: Baseline.nullable(),
    steps: z.array(StepRecord),
    verdicts: z.array(CheckVerdict),
    judgement: maybe(JudgementRecord),
    outcome: Outcome.nullable().describe('`null`: it has not ended'),
    instructions: z.string().nullable().describe('What a person must do; `null`: nothing'),
    waiting: Waiting.nullable().describe('`null`: it goes on by itself'),
    watchUntil: maybe(Instant).describe('Until when a soak or a bake watches; absent: none has begun'),
    interventions: z.array(InterventionRecord).describe('In the order in which they came'),
  }),
).meta({ id: 'Progress', description: 'Where something stands that runs' });

export const ReleaseResult = mirrorOf<domain.ReleaseResult>()(
  z.strictObject({
    releaseId: z.string(),
    kind: Kind,
    target: z.string(),
    deploymentId: z.string().nullable(),
    artifact: z
      .string()
      .nullable()
      .describe('For people: the beginning of its digest, the URI of its image, its ref'),
    commit: z.string().nullable(),
    requestKey: z.string().nullable(),
    outcome: Outcome,
    reason: z.string().describe('Why it ended so: one sentence'),
    code: Code.nullable().describe(
      'Of the failure that ended it; `null`: nothing failed, or a person stopped it',
    ),
    instructions: z.string().nullable().describe('What a person must do; `null`: nothing'),
    revisionId: z.string().nullable().describe('The revision that it made'),
    baseline: Baseline.nullable(),
    servingRevisionId: z.string().nullable().describe('The revision that serves now, as far as is known'),
    servingVerified: z.boolean().describe('Whether what serves now passed its checks'),
    extraRevisionIds: z
      .array(z.string())
      .describe('Revisions with its artifact beyond the one that was followed'),
    givenUpRevisionIds: z
      .array(z.string())
      .describe('Revisions that were given up on while they were worked on'),
    copyRevisionIds: maybe(z.array(z.string())).describe('Revisions that redeploys made of earlier ones'),
    unansweredUpload: maybe(z.string()).describe('The upload whose PATCH went unanswered on the way'),
    knownRevisions: z.array(KnownRevision),
    agentUrl: z.string().nullable(),
    settingsWorked: maybe(z.literal(true)).describe(
      'The settings of the newest request worked: the next restore uses them',
    ),
    steps: z.array(StepRecord),
    verdicts: z.array(CheckVerdict),
    requestedBy: Actor,
    preemptedBy: RollbackRequest.nullable().describe('The rollback that it made way for'),
    interventions: z.array(InterventionRecord).describe('In the order in which they came'),
    startedAt: Instant,
    endedAt: Instant,
  }),
).meta({ id: 'ReleaseResult', description: 'The whole record of a release or a rollback' });
