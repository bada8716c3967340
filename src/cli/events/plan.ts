import { z } from 'zod';

import type { Check } from '../../domain/check.ts';
import type { Frozen as FrozenNow } from '../../domain/freeze/freeze.ts';
import type { ApprovalPolicy } from '../../domain/intervention.ts';
import type { PlannedChange } from '../../domain/releasePlan.ts';
import type { StepPolicy } from '../../domain/step.ts';
import type { PlannedAnswer } from '../plan/releasePlan.ts';
import { Count, event, Instant, maybe } from './fields.ts';
import { mirrorOf } from './mirror.ts';
import { ArtifactFile, FieldDifference, FilesDifference } from './records/files.ts';
import { Code, KnownRevision, StepName } from './records/release.ts';
import { LocalHold, Running } from './records/target.ts';

const policy = mirrorOf<StepPolicy>()(
  z.strictObject({
    startToCloseMs: Count.describe('The deadline of one attempt'),
    scheduleToCloseMs: Count.describe('The deadline of all attempts, waiting included'),
    heartbeatMs: maybe(Count).describe('The longest silence of a step that reports its progress'),
    retry: z.strictObject({
      initialIntervalMs: Count,
      backoffCoefficient: z.number(),
      maximumIntervalMs: Count,
      maximumAttempts: Count.describe('0: as often as the deadline allows'),
    }),
  }),
);

const PlannedStep = z
  .strictObject({
    step: StepName,
    subject: z.string().nullable().describe('What it is about: the name of a check'),
    times: Count.describe('How often it is taken'),
    ...policy.shape,
  })
  .meta({ id: 'PlannedStep', description: 'A step that a release is going to take, with its deadlines' });

const PlannedCheck = mirrorOf<Check>()(
  z.strictObject({
    name: z.string(),
    assistant: z.string(),
    input: z.record(z.string(), z.unknown()),
    expect: z.strictObject({
      status: maybe(z.enum(['success', 'error', 'interrupted'])),
      contains: maybe(z.string()),
      matches: maybe(z.string()),
      path: maybe(z.string()),
      equals: maybe(z.unknown()),
      maxLatencyMs: maybe(Count),
    }),
    timeoutMs: Count,
    feedbackKey: maybe(z.string()),
  }),
).meta({ id: 'PlannedCheck', description: 'A check, as slipway.yaml has it' });

const Changes = mirrorOf<PlannedChange>()(
  z.strictObject({
    fields: z.array(FieldDifference),
    immutable: z.array(FieldDifference).describe('They differ and cannot change: they stay as they are'),
    secrets: z
      .array(
        z.strictObject({
          name: z.string(),
          from: z.string().nullable(),
          change: z.enum(['added', 'set_again', 'removed']),
        }),
      )
      .nullable()
      .describe('`null`: they are carried over'),
  }),
).meta({ id: 'PlannedChange', description: 'What a release changes of its deployment' });

const Approval = mirrorOf<ApprovalPolicy>()(
  z.strictObject({
    required: Count,
    approvers: maybe(z.array(z.string())).describe('Absent: anybody but whoever asked for the release'),
    withinMs: Count,
    otherwise: maybe(z.enum(['reject', 'approve'])).describe('Absent: `reject`'),
  }),
).meta({ id: 'ApprovalPolicy', description: 'Who must agree before anything is changed' });

const Answer = mirrorOf<PlannedAnswer>()(
  z.strictObject({
    releaseId: z.string(),
    disposition: z.enum(['queued', 'joined', 'already_released', 'rejected']),
    reason: z.string(),
    running: Running.nullable(),
    waiting: z.array(z.string()).describe('The releases that wait before it'),
    superseded: z.array(z.string()).describe('The releases that it would supersede'),
  }),
).meta({ id: 'PlannedAnswer', description: 'How the target would take the release at this moment' });

/** A freeze, its end as programs read it. */
const Freeze = mirrorOf<Omit<FrozenNow, 'until'> & { until: string }>()(
  z.strictObject({
    name: z.string(),
    timeZone: z.string(),
    then: z.enum(['wait', 'refuse']),
    until: Instant,
  }),
);

const PlannedArtifact = z
  .strictObject({
    kind: z.enum(['tarball', 'image', 'git']),
    identity: z.string(),
    sizeBytes: Count.nullable().describe('`null`: it is no tarball'),
    files: z.array(ArtifactFile).nullable().describe('`null`: it is no tarball'),
    difference: FilesDifference.nullable().describe('Against what serves; `null`: that is not known'),
  })
  .meta({ id: 'PlannedArtifact', description: 'What a release would ship' });

export const ReleasePlan = event('release_plan', '`plan release`', {
  target: z.string(),
  artifact: PlannedArtifact,
  commit: z.string().nullable(),
  requestKey: z.string(),
  deployment: z
    .strictObject({ deploymentId: z.string(), name: z.string(), activeRevisionId: z.string().nullable() })
    .nullable()
    .describe('`null`: there is none yet, or nobody knows'),
  creates: z.boolean().nullable().describe('`null`: the control plane could not be asked'),
  serving: KnownRevision.nullable().describe('What the target knows of the revision that serves'),
  change: Changes.nullable().describe('`null`: the control plane could not be asked'),
  steps: z.array(PlannedStep),
  longestMs: Count.describe('How long they take at most, by their deadlines'),
  restoring: z
    .array(PlannedStep)
    .describe(
      'The steps that put a revision back if the release fails, with the checks that this revision passed',
    ),
  restoringLongestMs: Count,
  checks: z.array(PlannedCheck),
  soakMs: Count,
  approval: Approval.nullable().describe('`null`: nobody need agree'),
  frozen: Freeze.nullable().describe('The freeze that is in force'),
  localHold: LocalHold.nullable(),
  answer: Answer.nullable().describe('`null`: the target could not be asked'),
  unreached: z.array(z.strictObject({ code: Code, message: z.string() })).describe('Who could not be asked'),
});
