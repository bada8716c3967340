import { canonicalJson } from '@slipway/contract/json';
import type { ErrorCode } from '../../domain/errors.ts';
import { CREDENTIAL_FAILED, PASSING } from '../../domain/failure.ts';
import { settingsForRestore, type TargetSpec } from '../../domain/target/targetSpec.ts';
import { explain } from '../failure.ts';

/** Failures of an address that a control plane has left: nothing answers there, or only that it has moved. */
const UNREACHED: ReadonlySet<ErrorCode> = new Set([
  ...PASSING,
  'SLIPWAY_STEP_TIMED_OUT',
  'SLIPWAY_CONFIG_INVALID',
]);

/**
 * The target settings for a restore. They start as the last settings that worked, so that a typo in a newer request
 * does not stop a rollback. If their credential is missing or refused, or their control plane has another address by now
 * and does not answer at theirs, the newest settings are used from then on.
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

  /** Runs `work` with these settings. If their credential or their address fails, runs it again with the newest. */
  async under<T>(work: (target: TargetSpec) => Promise<T>): Promise<T> {
    try {
      return await work(this.#current);
    } catch (error) {
      const { code } = explain(error);
      const hasMoved = this.#current.controlPlane !== this.#newest.controlPlane && UNREACHED.has(code);
      if (this.areNewest || !(hasMoved || CREDENTIAL_FAILED.has(code))) throw error;
      this.#current = this.#newest;
      return work(this.#current);
    }
  }
}
