import type { Secret } from '@slipway/contract/controlPlane/secret';
import type { Sealing } from '../store/sealing.ts';

/** Lists of secrets, sealed as one value with the id of their deployment as context. */
export interface StoredSecrets {
  seal(secrets: readonly Secret[], deploymentId: string): string;
  /** @throws PlatformError SLIPWAY_MASTER_KEY_WRONG when they were sealed with another key. */
  open(sealed: string, deploymentId: string): Secret[];
}

/** Makes {@link StoredSecrets}. */
export function createStoredSecrets(sealing: Sealing): StoredSecrets {
  return {
    seal: (secrets, deploymentId) => sealing.seal(JSON.stringify(secrets), deploymentId),
    // Sealed by us from a checked list, and authenticated: it has the shape that we gave it.
    open: (sealed, deploymentId) => JSON.parse(sealing.open(sealed, deploymentId)) as Secret[],
  };
}
