import type { Statement } from '../../domain/identity/statement.ts';
import type { Address } from './address.ts';
import type { Session } from './session.ts';
import type { Viewer } from './viewer.ts';

export interface PageEnv {
  readonly Variables: {
    /** Of the page in the browser. */
    readonly address: Address;
    readonly viewer: Viewer;
    readonly session: Session;
    readonly prove: KeepProof;
  };
}

/**
 * Stores a proof of identity in an artifact store. @returns the record's name.
 * @throws SlipwayError SLIPWAY_IDENTITY_UNPROVED if the browser has no ID token; SLIPWAY_ARTIFACT_STORE_….
 */
export type KeepProof = (store: string, statement: Statement) => Promise<string>;
