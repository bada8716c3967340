import { CodedError, type CodedErrorOptions } from '@slipway/contract/codedError';
import { PLATFORM_ERRORS, type PlatformErrorCode } from '@slipway/contract/platformErrors';

/** Any failure that the platform or an agent server reports on purpose. */
export class PlatformError extends CodedError<PlatformErrorCode> {
  constructor(code: PlatformErrorCode, message: string, options: CodedErrorOptions = {}) {
    super(code, PLATFORM_ERRORS[code].exitCode, message, options);
    this.name = 'PlatformError';
  }
}
