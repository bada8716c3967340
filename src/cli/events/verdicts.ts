import { z } from 'zod';

import type { Violation as Broken } from '../../domain/audit/violation.ts';
import type { Finding as Looked } from '../doctor/findings.ts';
import { Count, event, ExitCode } from './fields.ts';
import { mirrorOf } from './mirror.ts';
import { JudgeReport } from './records/judge.ts';

const violation = mirrorOf<Broken>()(
  z.strictObject({
    rule: z.literal([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]),
    workflowId: z.string().describe('Where it happened'),
    what: z.string().describe('One sentence'),
  }),
);

export const Violation = event('violation', 'one for each rule that was broken', {
  target: z.string(),
  ...violation.shape,
});

export const Audited = event('audited', 'one for each target', {
  target: z.string(),
  works: Count.describe('How many releases and rollbacks were looked at'),
  revisions: Count.nullable().describe('`null`: the control plane was not asked'),
  violations: Count,
});

export const Judged = event('judged', 'the judge has come to a verdict, or could not do its work', {
  report: JudgeReport,
});

const finding = mirrorOf<Looked>()(
  z.strictObject({
    name: z.string().describe('What was looked at'),
    state: z.enum(['ok', 'warning', 'missing']),
    detail: z.string(),
    mend: z.string().nullable().describe('The command or setting that mends it'),
    exitCode: ExitCode.describe('What the command ends with because of it'),
  }),
);

export const Finding = event('finding', 'one for each thing that was looked at', finding.shape);

export const VerdictEnded = event('ended', '`audit`, `judge`, `doctor`: the last one', {
  exitCode: ExitCode,
});
