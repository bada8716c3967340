/**
 * Why a source could not be built. `message` is the reason, for the person whose source it is. It stays inside
 * the builder, which reports it as a result.
 */
export class BuildFailure extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'BuildFailure';
  }
}

/** A name out of a source as a reason shows it: quoted, control characters escaped, not too long. */
export function shown(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);
}

/** What a line of output says when a write failed because the disk, or the quota, is full. */
export const DISK_FULL_TEXT = /\bENOSPC\b|\bEDQUOT\b|no space left on device|disk quota exceeded/i;
