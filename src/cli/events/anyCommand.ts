import { z } from 'zod';

import { PLATFORM_ERRORS, type PlatformErrorCode } from '@slipway/contract/platformErrors';

import { ERROR_CATALOGUE, type ErrorCode } from '../../domain/errors.ts';
import { event, ExitCode, maybe, openWords } from './fields.ts';

/** A code of the command's catalogue, or of the platform's. */
const Code = openWords(
  Object.keys({ ...ERROR_CATALOGUE, ...PLATFORM_ERRORS }) as [
    ErrorCode | PlatformErrorCode,
    ...(ErrorCode | PlatformErrorCode)[],
  ],
  'those of docs/errors.md',
);

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
