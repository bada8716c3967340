import { canonicalJson } from '@slipway/contract/json';
import { CREDENTIAL_FAILED } from '../../domain/failure.ts';
import { settingsForRestore, type TargetSpec } from '../../domain/target/targetSpec.ts';
import { explain } from '../failure.ts';

/**
 * The target settings for a restore. They start as the last settings that worked, so that a typo in a newer request
 * does not stop a rollback. If their credential is missing or refused, the newest settings are used from then on.
 */
export class Settings {
  readonly #newest: TargetSpec;
  #current: TargetSpec;

  /** @param lastGood - the last settings that worked; `null` if none have. */
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

  /** Runs `work` with these settings. If their credential fails, runs it again with the newest. */
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
