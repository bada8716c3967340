import { CodedError, type CodedErrorOptions } from '@slipway/contract/codedError';
import { PLATFORM_ERRORS, type PlatformErrorCode } from '@slipway/contract/platformErrors';

/** Any failure that the platform or an agent server reports on purpose. */
export class PlatformError extends CodedError<PlatformErrorCode> {
  constructor(code: PlatformErrorCode, message: string, options: CodedErrorOptions = {}) {
    super(code, PLATFORM_ERRORS[code].exitCode, message, options);
    this.name = 'PlatformError';
  }
}

/** An environment variable of the platform has an invalid value. `expected` completes "not …". */
export function invalidVariable(name: string, value: string, expected: string): PlatformError {
  return new PlatformError('SLIPWAY_USAGE', `${name} is ${JSON.stringify(value)}, not ${expected}`, {
    place: name,
    hint: `Correct ${name} in the environment of the platform, or remove it.`,
  });
}

/** For `catch`: resolves with `undefined` if a file or folder does not exist. */
export function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

/** What was thrown, as an error: an agent's code may throw anything. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
