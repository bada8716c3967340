import { hasCode } from '../../domain/errors.ts';
import { isRecord } from '../../domain/scalars.ts';
import { isProofName, type Proof } from '../../identity/proof.ts';
import { readTrust, unproved, Verifier } from '../../identity/verifier.ts';
import type { Activities } from '../activities.ts';
import type { Outside } from '../connections.ts';
import type { Untracked } from '../track.ts';

/**
 * Verifies who asked for something. The token stays in this process: the history gets only the identity.
 * @param verifier - for the issuers that the worker trusts.
 */
export function identityActivities(
  outside: Pick<Outside, 'openStore'>,
  verifier: Pick<Verifier, 'verify'> = new Verifier(readTrust(process.env)),
): Untracked<Pick<Activities, 'proveIdentity'>> {
  return {
    async proveIdentity({ store: url, name, statement, at }) {
      if (!isProofName(name)) throw unproved('the message names no proof');
      const store = outside.openStore(url);
      const proof = await store.getRecord(name);
      // An earlier attempt may have read and removed it. Then verification fails.
      if (!isProof(proof)) throw unproved('its proof is not in the artifact store, or was used already');
      try {
        const identity = await verifier.verify(proof, statement, new Date(at));
        await store.removeRecord(name);
        return { identity };
      } catch (error) {
        if (hasCode(error, 'SLIPWAY_IDENTITY_UNPROVED')) await store.removeRecord(name);
        throw error;
      }
    },
  };
}

function isProof(record: unknown): record is Proof {
  if (!isRecord(record) || typeof record['token'] !== 'string') return false;
  return record['statement'] === undefined || typeof record['statement'] === 'string';
}
