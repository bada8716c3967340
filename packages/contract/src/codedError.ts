/** What a {@link CodedError} has besides code and message. */
export interface CodedErrorOptions {
  /** The place: a file with line and column, a field's path, a URL. Never a secret. */
  readonly place?: string;
  /** What to do: one sentence, with the command if there is one. */
  readonly hint?: string;
  /** The cause. Kept for `--verbose`; never printed by default. */
  readonly cause?: unknown;
}

/** Shared by all copies of this module: the command and the platform are separate bundles. */
const MARK = Symbol.for('@slipway/contract/CodedError');

/**
 * Any failure that Slipway or its platform reports on purpose. `message` says what happened, without a final period. Each of
 * the two packages has its own catalogue of codes and error class; commands print both through this class.
 */
export class CodedError<Code extends string = string> extends Error {
  /** Stable: `SLIPWAY_…`. */
  readonly code: Code;
  /** The exit code of a command if nothing handles this error. */
  readonly exitCode: number;
  readonly place: string | undefined;
  readonly hint: string | undefined;

  constructor(code: Code, exitCode: number, message: string, options: CodedErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CodedError';
    this.code = code;
    this.exitCode = exitCode;
    this.place = options.place;
    this.hint = options.hint;
  }

  get [MARK](): true {
    return true;
  }
}

/** Whether a thrown value is a {@link CodedError}, from any copy of this module. */
export function isCodedError(error: unknown): error is CodedError {
  return error instanceof Error && MARK in error;
}

/** The message of anything that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
