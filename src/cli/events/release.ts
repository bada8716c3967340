import { z } from 'zod';

import { INTERVENTION_KINDS } from '../../domain/intervention.ts';
import { Count, event, ExitCode, Instant, maybe, openWords } from './fields.ts';
import {
  BuildLog,
  Call,
  CheckVerdict,
  Code,
  InterventionRecord,
  Outcome,
  ReleaseResult,
  StepRecord,
  Waiting,
} from './records/release.ts';
import { HistoryRow, RevisionWords } from './records/target.ts';

export const SuspectedSecret = event(
  'suspected_secret',
  'the source holds what looks like a secret: one each',
  {
    path: z.string().describe('The file, relative to the source'),
    line: Count.nullable().describe('From 1; `null`: suspected by its name'),
    what: z.string().describe('What it looks like'),
  },
);

export const Artifact = event('artifact', 'the artifact is in the artifact store (`release`)', {
  kind: z.enum(['tarball', 'image', 'git']),
  artifact: z.string().describe('Its identity: `sha256:…`, `image:…`, `git:…`'),
  sizeBytes: Count.nullable().describe('`null`: it is no tarball'),
  entries: Count.nullable().describe('How many files and links it holds; `null`: it is no tarball'),
  commit: z.string().nullable(),
});

export const Frozen = event(
  'frozen',
  'a freeze is in force: the release waits for its end, or goes on all the same',
  {
    target: z.string(),
    name: z.string().describe('The freeze'),
    until: Instant,
    overridden: z.boolean().describe('Whether it goes on all the same'),
  },
);

export const ReleaseSubmitted = event(
  'submitted',
  '`release`: the target has taken the request, or refused it',
  {
    releaseId: z.string(),
    disposition: z.enum(['queued', 'joined', 'already_released', 'rejected']),
    reason: z.string(),
    target: z.string(),
    workflowId: z.string().describe('Of the target'),
    requestKey: z.string().describe('Two requests with the same key ask for the same thing'),
  },
);

export const RollbackSubmitted = event(
  'submitted',
  '`rollback`: the target has taken the request, or refused it',
  {
    requestId: z.string(),
    disposition: z
      .enum(['preempting', 'queued', 'joined', 'done', 'ignored'])
      .describe('`done`: what was to be left does not serve any more'),
    reason: z.string(),
    serves: RevisionWords.nullable().describe('What will serve, or serves already; `null`: not known yet'),
    onHold: z.boolean().nullable().describe('`null`: no worker has answered yet'),
    via: z.enum(['update', 'signal']).describe('`signal`: no worker has answered yet'),
    target: z.string(),
  },
);

export const Queued = event('queued', 'it waits for its turn', { reason: z.string() });

export const Started = event('started', 'it runs. A rollback that stops a release follows that release', {
  releaseId: z.string(),
  workflowId: z.string(),
});

export const Step = event('step', 'a step began, or ended. A short step may only be told once it has ended', {
  ...StepRecord.shape,
  elapsedMs: maybe(Count).describe('Once it has ended'),
});

export const Check = event('check', 'a check came to a verdict', CheckVerdict.shape);

export const Waits = event(
  'waiting',
  'the release waits for a person to say something, or for a freeze to end',
  Waiting.shape,
);

export const UnderWay = event('under_way', 'what it waits for and what people said to it: at each change', {
  call: Call,
  buildLog: BuildLog,
  watchUntil: maybe(Instant).describe('Until when a soak or a bake watches; absent: none has begun'),
  interventions: z.array(InterventionRecord).describe('In the order in which they came'),
});

export const Silent = event('silent', 'nobody has answered for a while; the command goes on asking', {
  who: z.enum(['worker', 'temporal']),
  since: Instant,
});

export const Answering = event('answering', 'somebody answers again', {});

export const ReleaseEnded = event('ended', '`release`, `rollback`, `watch`: it has ended', {
  releaseId: z
    .string()
    .nullable()
    .describe('`null`: a rollback that was refused, or done by `--break-glass`'),
  outcome: Outcome,
  reason: z.string(),
  exitCode: ExitCode,
  workflowUrl: z.string().nullable(),
  result: ReleaseResult.nullable().describe('The whole record'),
  row: HistoryRow.nullable().describe('There instead for what never started or is long over'),
});

export const GaveUp = event('gave_up', 'the command follows no longer; the release goes on', {
  why: z.enum(['timeout', 'stopped', 'unknown']).describe('`unknown`: the target does not know it any more'),
  exitCode: ExitCode,
});

export const BreakGlass = event('break_glass', '`rollback --break-glass`: a revision is put back', {
  deploymentId: z.string(),
  activeRevisionId: z.string().nullable(),
  to: z.string().describe('The revision that is put back'),
  command: z.string().describe('The same by hand'),
});

export const Revision = event('revision', '`rollback --break-glass`: each status of the revision', {
  revisionId: z.string(),
  status: z.string().describe('In the words of the control plane'),
});

export const Intervention = event(
  'intervention',
  'it was said; `release` and `promote` with `--abort-on-interrupt`: that were interrupted',
  {
    kind: openWords(INTERVENTION_KINDS),
    target: maybe(z.string()).describe('What is on this target was meant; absent after an interrupt'),
    promotion: maybe(z.string()).describe('A promotion was meant; absent after an interrupt'),
    releaseId: z
      .string()
      .nullable()
      .describe('`null`: it is a promotion, or nobody has said yet which one runs'),
    disposition: z
      .enum(['taken', 'repeated', 'kept', 'failed'])
      .describe('`kept`: no worker has answered yet; `failed`: it could not be asked'),
    note: z.string(),
    via: z.enum(['update', 'signal']).nullable().describe('`null`: it could not be asked'),
    code: maybe(Code).describe('With `failed`: why'),
  },
);
