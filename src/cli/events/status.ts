import { z } from 'zod';

import type { DescribedRevision as Described } from '../status/servesLines.ts';
import { event, Instant } from './fields.ts';
import { mirrorOf } from './mirror.ts';
import { PromotionResult, PromotionSchedule } from './records/promotion.ts';
import { Actor, BuildLog, Call, Progress, RollbackRequest } from './records/release.ts';
import {
  Drift,
  HistoryRow,
  Hold,
  IgnoredMessage,
  LocalHold,
  NeedsPerson,
  PastRelease,
  Quarantined,
  RevisionWords,
  Running,
  SaidMessage,
  Undelivered,
} from './records/target.ts';

const target = {
  target: z.string(),
  workflowId: z.string(),
  workflowUrl: z.string().nullable(),
};
const localHold = LocalHold.nullable().describe('Left by `rollback --break-glass` on this machine');
const activeRevisionId = z
  .string()
  .nullable()
  .describe('As the control plane says; else what the target last knew');
const lastKnownRevisionId = z.string().nullable().describe('What the target last knew to serve');
const deployment = z
  .strictObject({
    deploymentId: z.string(),
    activeRevisionId: z.string().nullable(),
    latestRevisionId: z.string().nullable().describe('The newest, which need not be the one that serves'),
  })
  .nullable()
  .describe('`null`: the control plane could not be asked');

const DescribedRevision = mirrorOf<Described>()(
  z.strictObject({
    ...RevisionWords.shape,
    verified: z.boolean().nullable().describe('`null`: not known'),
    at: Instant.nullable().describe('When it was verified, or found not to be'),
    copyOf: z.string().nullable().describe('The revision that it is a copy of'),
  }),
).meta({ id: 'DescribedRevision', description: 'A revision, and how its checks ended' });

export const TargetStatus = event('status', 'by the target’s own word', {
  ...target,
  from: z.literal('target'),
  known: z.boolean().describe('`false`: it has never taken a release'),
  running: Running.nullable(),
  progress: Progress.nullable().describe('The steps of what runs'),
  call: Call,
  buildLog: BuildLog,
  queue: z.array(
    z.strictObject({
      releaseId: z.string(),
      queuedAt: Instant,
      requestKey: z.string(),
      commit: z.string().nullable(),
      requestedBy: Actor,
    }),
  ),
  rollbacks: z.array(RollbackRequest).describe('Those that wait'),
  hold: Hold.nullable(),
  localHold,
  activeRevisionId,
  lastKnownRevisionId,
  deployment,
  serving: DescribedRevision.nullable().describe('What `activeRevisionId` names'),
  history: z.array(HistoryRow).describe('The oldest first'),
  ignored: z.array(IgnoredMessage),
  undelivered: z.array(Undelivered),
  said: z.array(SaidMessage),
  quarantined: z.array(Quarantined),
  drift: Drift.nullable(),
  needsPerson: NeedsPerson.nullable().describe(
    'A release or a rollback could not put a good revision back, and none has ended well since',
  ),
});

const RunningWork = z
  .strictObject({
    ...PastRelease.shape,
    workflowId: z.string(),
    calls: z
      .array(
        z.strictObject({
          name: z.string(),
          scheduledAt: Instant,
          endedAt: Instant.nullable().describe('`null`: it has not ended'),
          outcome: z.enum(['completed', 'failed', 'timed_out', 'canceled', 'open']),
        }),
      )
      .describe('What was called so far'),
  })
  .meta({ id: 'RunningWork', description: 'What the histories of Temporal tell of what runs' });

export const KeptStatus = event('status', 'no worker answers: what Temporal and the control plane tell', {
  ...target,
  from: z.literal('temporal'),
  known: z.literal(true),
  running: RunningWork.nullable(),
  localHold,
  activeRevisionId,
  lastKnownRevisionId,
  deployment,
  history: z.array(PastRelease).describe('The oldest first'),
  messages: z
    .array(
      z.strictObject({
        workflowId: z.string(),
        message: z.string(),
        at: Instant,
        who: z.string().nullable(),
        reason: z.string().nullable(),
      }),
    )
    .describe('What was said by signal and waits for a worker'),
  unknown: z.array(z.string()).describe('The fields that are left out because only a worker tells them'),
});

const ScheduleStatus = z
  .strictObject({
    ...PromotionSchedule.shape,
    paused: z.boolean(),
    note: z.string().nullable().describe('Why it is paused, or goes on'),
    next: z.array(Instant).describe('The next times'),
  })
  .meta({
    id: 'ScheduleStatus',
    description: 'When a promotion is done by itself, and whether it is at present',
  });

export const PromotionStatus = event(
  'promotion_status',
  'one for each promotion that leads to one of these targets',
  {
    name: z.string(),
    from: z.string(),
    to: z.string(),
    workflowId: z.string(),
    workflowUrl: z.string().nullable(),
    state: z
      .enum(['none', 'running', 'ended', 'stopped'])
      .describe('`stopped`: its workflow was ended from outside'),
    progress: Progress.nullable().describe('Of one that runs'),
    last: PromotionResult.nullable().describe('The whole record of one that has ended'),
    schedule: ScheduleStatus.nullable(),
  },
);
