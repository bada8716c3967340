import { z } from 'zod';

import { event } from './fields.ts';
import { FieldDifference, FilesDifference } from './records/files.ts';
import { BuildLog, Call, Progress, ReleaseResult } from './records/release.ts';
import { PastRelease } from './records/target.ts';

export const Past = event('past_release', '`history`: one each, the newest first', {
  target: z.string(),
  ...PastRelease.shape,
});

export const Release = event('release', '`show`', {
  target: z.string(),
  ...PastRelease.shape,
  workflowUrl: z.string().nullable(),
  from: z.enum(['temporal', 'record', 'target']).describe('Who told it'),
  progress: Progress.nullable().describe('Of one that runs'),
  call: Call,
  buildLog: BuildLog,
  result: ReleaseResult.nullable().describe('The whole record'),
});

export const Difference = event('difference', '`show --diff`', {
  target: z.string(),
  from: PastRelease,
  to: PastRelease,
  configuration: z.array(FieldDifference).nullable(),
  files: FilesDifference.nullable(),
  unknown: z.array(z.string()).describe('Why one of the two is `null`'),
});

export const Log = event('log', 'one line each, the oldest first', {
  target: z.string(),
  revisionId: z.string(),
  stage: z.string().describe('`build`, `deploy`; others may come'),
  message: z.string(),
  timestamp: z.string().nullable().describe('`null`: the control plane does not tell'),
});

export const Idle = event('idle', '`watch`: nothing runs', { target: z.string() });

export const Hold = event('hold', '`hold`, `unhold`', {
  target: z.string(),
  onHold: z.boolean().nullable().describe('`null`: no worker has answered yet'),
  via: z.enum(['update', 'signal']).nullable().describe('`null`: there was nobody to be told'),
  removedLocal: z.boolean().describe('Whether the hold that `rollback --break-glass` left was ended'),
});

export const Quarantine = event('quarantine', '`quarantine`, `unquarantine`', {
  target: z.string(),
  artifact: z.string().describe('Its identity'),
  quarantined: z.boolean().nullable().describe('`null`: no worker has answered yet'),
  via: z.enum(['update', 'signal']),
});
