import { canonicalJson } from '@slipway/contract/canonicalJson';
import type { ErrorCode } from '../../domain/errors.ts';
import { settingsForRestore, type TargetSpec } from '../../domain/target/targetSpec.ts';
import { explain } from '../failure.ts';

/** Failures that newer settings may not have. */
const CREDENTIAL_FAILED: ReadonlySet<ErrorCode> = new Set([
  'SLIPWAY_UNAUTHORIZED',
  'SLIPWAY_SECRET_MISSING',
  'SLIPWAY_SECRET_REFUSED',
]);

/**
 * The settings under which a target is put back: the last that worked, so that a typo in a newer request does not stop a
 * rollback; from the first call on whose credential is refused or missing, the newest.
 */
export class Settings {
  readonly #newest: TargetSpec;
  #current: TargetSpec;

  /** @param lastGood - the last settings that worked; `null`: none did yet. */
  constructor(lastGood: TargetSpec | null, newest: TargetSpec) {
    const same = canonicalJson(lastGood) === canonicalJson(settingsForRestore(newest));
    this.#newest = newest;
    this.#current = lastGood === null || same ? newest : lastGood;
  }

  get current(): TargetSpec {
    return this.#current;
  }

  get areNewest(): boolean {
    return this.#current === this.#newest;
  }

  /** Does something under these settings, and again under the newest where these have lost their credential. */
  async under<T>(work: (target: TargetSpec) => Promise<T>): Promise<T> {
    try {
      return await work(this.#current);
    } catch (error) {
      if (this.areNewest || !CREDENTIAL_FAILED.has(explain(error).code)) throw error;
      this.#current = this.#newest;
      return work(this.#current);
    }
  }
}
