import { SlipwayError } from '../domain/errors.ts';

/** `SLIPWAY_ARTIFACT_UNREADABLE` for a file of the source. `file` is relative to the source's root. */
export function unreadable(file: string, why: string, hint: string, cause?: unknown): SlipwayError {
  return new SlipwayError('SLIPWAY_ARTIFACT_UNREADABLE', `${file} ${why}`, {
    place: file,
    hint,
    cause,
  });
}

/** The reason that the operating system gives, in a few words. */
export function systemReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
