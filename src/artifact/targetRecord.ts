import { createHash } from 'node:crypto';

import { type Kept, keptStateOf } from '../domain/target/targetState.ts';
import type { ArtifactStore } from './artifactStore.ts';

/** The name of the record with a target's state. No target's name begins like this. */
export function targetRecordName(workflowId: string): string {
  return `.targets/${createHash('sha256').update(workflowId).digest('hex')}.json`;
}

/** A target's state in its record store; `undefined` if it has none. */
export async function readTargetRecord(
  store: Pick<ArtifactStore, 'getRecord'>,
  workflowId: string,
): Promise<Kept | undefined> {
  return keptStateOf(await store.getRecord(targetRecordName(workflowId)));
}
