import { z } from 'zod';

import type { ConfigProblem } from '../../config/configProblem.ts';
import type { RecordedRelease as Recorded } from '../../domain/retention.ts';
import { Count, event, ExitCode, Instant } from './fields.ts';
import { mirrorOf } from './mirror.ts';

export const Completion = event('completion', '`completion bash`, `zsh`, `fish`', {
  shell: z.enum(['bash', 'zsh', 'fish']),
  script: z.string(),
});

export const Names = event('names', '`completion targets`, `completion promotions`, which the shells call', {
  what: z.enum(['targets', 'promotions']),
  names: z.array(z.string()),
});

export const Written = event('written', 'one for each file', { file: z.string() });

const problem = mirrorOf<ConfigProblem>()(
  z.strictObject({
    file: z.string(),
    severity: z.enum(['error', 'warning']).describe('`warning`: it is right, and has no effect'),
    line: Count.describe('From 1'),
    column: Count.describe('From 1'),
    length: Count.describe('How many characters it is about'),
    path: z.string().describe('Of the field; empty where the file is no YAML'),
    message: z.string(),
    excerpt: z.string().describe('The line; what may be a secret in it is masked with `*`'),
  }),
);

export const Problem = event(
  'problem',
  'something is wrong, or has no effect: in the order of the file',
  problem.shape,
);

export const Linted = event('linted', 'the last one', {
  file: z.string(),
  errors: Count,
  warnings: Count,
  exitCode: ExitCode,
});

export const Entry = event('entry', '`--list`: each file and link, in their order', { path: z.string() });

export const Packed = event('packed', 'the source is packed', {
  artifact: z.string().describe('Its digest'),
  sizeBytes: Count,
  entries: Count.describe('How many files and links it holds'),
  file: z.string().nullable().describe('Where `--output` put it'),
});

const RecordedRelease = mirrorOf<Recorded>()(
  z.strictObject({
    target: z.string(),
    releaseId: z.string(),
    artifact: z.string().describe('Its identity; of a digest the beginning'),
    released: z.boolean().describe('Whether it ended `released`'),
    endedAt: Instant,
  }),
).meta({ id: 'RecordedRelease', description: 'A release of an artifact, as its record tells it' });

export const PrunedArtifact = event('pruned_artifact', 'an artifact of the store was dealt with', {
  artifact: z.string().describe('Its digest'),
  sizeBytes: Count,
  putAt: Instant.describe('When it was last put'),
  last: RecordedRelease.nullable().describe('Its newest release; `null`: no record tells of one'),
  state: z.enum(['kept', 'removed', 'would_go']).describe('`would_go`: with `--dry-run`'),
  kept: z.array(z.string()).describe('Why, in words; empty: it is not'),
});

export const Pruned = event('pruned', 'the last one', {
  store: z.string(),
  dryRun: z.boolean(),
  kept: Count,
  removed: Count,
  bytesFreed: Count,
  exitCode: ExitCode,
});
