import { z } from 'zod';

import { NOTICE_EVENTS } from '../../../domain/notify/notice.ts';
import type { Undelivered as UndeliveredNotice } from '../../../domain/notify/undelivered.ts';
import type { PastRelease as Past } from '../../../domain/pastRelease.ts';
import type { Quarantined as QuarantinedArtifact } from '../../../domain/quarantine.ts';
import type { RevisionWords as Words } from '../../../domain/revisionName.ts';
import type * as domain from '../../../domain/targetState.ts';
import type { LocalHold as HoldOfMachine } from '../../rollback/localHold.ts';
import { Instant, maybe } from '../fields.ts';
import { mirrorOf } from '../mirror.ts';
import { Actor, Code, Kind, Outcome } from './release.ts';

export const Running = mirrorOf<domain.Running>()(
  z.strictObject({
    releaseId: z.string(),
    kind: Kind,
    requestKey: z.string().nullable(),
    workflowId: z.string(),
    to: z.string().nullable().describe('Where a rollback goes, as far as that is known'),
    restores: maybe(z.string()).describe('The revision that a release is restoring'),
  }),
).meta({ id: 'Running', description: 'What runs on a target' });

export const RevisionWords = mirrorOf<Words>()(
  z.strictObject({
    revisionId: z.string(),
    release: z.string().nullable().describe('The release that it belongs to'),
    commit: z.string().nullable(),
    artifact: z.string().nullable().describe('The identity of its artifact'),
  }),
).meta({ id: 'RevisionWords', description: 'A revision as people tell it from others' });

export const Hold = mirrorOf<domain.Hold>()(
  z.strictObject({
    since: Instant,
    by: Actor,
    requestId: maybe(z.string()).describe('The rollback that set it; absent: a person did'),
  }),
).meta({ id: 'Hold', description: 'The target takes no release until a person ends this' });

export const LocalHold = mirrorOf<HoldOfMachine>()(
  z.strictObject({
    target: z.string(),
    since: Instant,
    by: Actor,
    to: z.string().describe('The revision that was put back'),
  }),
).meta({ id: 'LocalHold', description: 'A hold that `rollback --break-glass` left on this machine' });

export const Drift = mirrorOf<domain.Drift>()(
  z.strictObject({
    at: Instant.describe('When it was noticed'),
    expected: z.string().describe('The revision that was known to serve'),
    found: z.string().nullable().describe('The revision that served instead; `null`: none'),
  }),
).meta({ id: 'Drift', description: 'Somebody changed the deployment by hand' });

export const NeedsPerson = mirrorOf<domain.NeedsPerson>()(
  z.strictObject({ releaseId: z.string(), since: Instant, instructions: z.string() }),
).meta({ id: 'NeedsPerson', description: 'What could not be put right, and what a person must do' });

export const HistoryRow = mirrorOf<domain.HistoryRow>()(
  z.strictObject({
    releaseId: z.string(),
    kind: Kind,
    requestKey: z.string().nullable(),
    artifact: z
      .string()
      .nullable()
      .describe('Its identity; of a digest the beginning, where no more is known'),
    commit: z.string().nullable(),
    outcome: Outcome,
    reason: z.string(),
    code: maybe(Code.nullable()).describe('Of the failure that ended it; `null` or absent: nothing failed'),
    revisionId: z.string().nullable(),
    servingRevisionId: z.string().nullable(),
    requestedBy: Actor,
    endedAt: Instant,
    rollbackRequestIds: z.array(z.string()).describe('The rollback requests that it carried out'),
    restored: maybe(z.literal(true)).describe('It restored the revision that served at its end'),
  }),
).meta({ id: 'HistoryRow', description: 'An ended release or rollback as its target remembers it' });

export const PastRelease = mirrorOf<Past>()(
  z.strictObject({
    releaseId: z.string(),
    kind: Kind,
    outcome: z
      .enum([...Outcome.options, 'running', 'stopped'])
      .describe('`running`: it has not ended; `stopped`: its workflow was ended from outside'),
    reason: z.string().nullable(),
    code: Code.nullable().describe(
      'Of the failure that ended it; `null`: nothing failed, or it has not ended',
    ),
    startedAt: Instant.nullable().describe('`null`: only a worker that does not answer would know'),
    endedAt: Instant.nullable().describe('`null`: it has not ended'),
    artifact: z
      .string()
      .nullable()
      .describe('Its identity; of a digest the beginning, where no more is known'),
    commit: z.string().nullable(),
    revisionId: z.string().nullable().describe('The revision that it made'),
    servingRevisionId: z.string().nullable().describe('The revision that served when it ended'),
    requestedBy: Actor,
  }),
).meta({ id: 'PastRelease', description: 'One release or rollback of the past of a target' });

export const Quarantined = mirrorOf<QuarantinedArtifact>()(
  z.strictObject({ artifact: z.string().describe('Its identity'), since: Instant, by: Actor }),
).meta({ id: 'Quarantined', description: 'An artifact that is not released any more' });

export const IgnoredMessage = mirrorOf<domain.IgnoredMessage>()(
  z.strictObject({ at: Instant, message: z.string(), reason: z.string() }),
).meta({ id: 'IgnoredMessage', description: 'A message that was not acted upon' });

export const SaidMessage = mirrorOf<domain.SaidMessage>()(
  z.strictObject({
    at: Instant,
    message: z
      .string()
      .describe('`hold`, `unhold`, `quarantine`, `unquarantine`, `withdraw`, `rollback`; others may come'),
    by: Actor,
    note: z.string().describe('What came of it'),
  }),
).meta({ id: 'SaidMessage', description: 'A message that changed something on the target' });

export const Undelivered = mirrorOf<UndeliveredNotice>()(
  z.strictObject({
    at: z.string().describe('When it was given up'),
    receiver: z.string(),
    event: z
      .string()
      .describe(`One of ${NOTICE_EVENTS.map((name) => `\`${name}\``).join(', ')}; others may come`),
    name: z.string().nullable().describe('What it was about; `null` for a hold'),
    reason: z.string(),
  }),
).meta({ id: 'Undelivered', description: 'A notice that a receiver could not be told' });
