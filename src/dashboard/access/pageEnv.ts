import type { Session } from './session.ts';
import type { KeepProof } from './signedInIdentity.ts';
import type { Viewer } from './viewer.ts';

/** The variables of a request that has passed access control. */
export interface PageEnv {
  readonly Variables: {
    readonly viewer: Viewer;
    readonly session: Session;
    /** Makes the viewer's proofs of identity. */
    readonly prove: KeepProof;
  };
}
