/** What a {@link CodedError} carries beside its code and its message. */
export interface CodedErrorOptions {
  /** Where: a file with line and column, a field's path, a URL. Never a secret. */
  readonly place?: string;
  /** What to do about it: one sentence, with the command where there is one. */
  readonly hint?: string;
  /** What caused it. Kept for `--verbose`; never printed by default. */
  readonly cause?: unknown;
}

/** Known to every copy of this module: the command and the platform are bundles, each with a copy of its own. */
const MARK = Symbol.for('@slipway/contract/CodedError');

/**
 * Any failure that Slipway or its platform reports on purpose. `message` says what happened, in one sentence. Each of
 * the two packages has a catalogue of its codes and a class of its own; this is what a command prints of both.
 */
export class CodedError<Code extends string = string> extends Error {
  /** Stable: `SLIPWAY_…`. */
  readonly code: Code;
  /** The exit code that a command ends with when nothing handles this error. */
  readonly exitCode: number;
  readonly place: string | undefined;
  readonly hint: string | undefined;

  constructor(code: Code, exitCode: number, message: string, options: CodedErrorOptions = {}) {
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

/** Whether something that was thrown is a {@link CodedError}, of whichever copy of this module. */
export function isCodedError(error: unknown): error is CodedError {
  return error instanceof Error && MARK in error;
}
