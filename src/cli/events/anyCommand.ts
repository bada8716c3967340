import { z } from 'zod';

import { event, ExitCode, maybe } from './fields.ts';
import { Code } from './records/release.ts';

export const Failure = event('error', 'the command ends with an error', {
  code: Code,
  message: z.string(),
  place: z
    .string()
    .nullable()
    .describe('Where: a file with line and column, the path of a field, an address'),
  hint: z.string().nullable().describe('What to do about it'),
  exitCode: ExitCode,
  stack: maybe(z.string()).describe('With `--verbose`'),
});
