import type { ReleaseRecord, ReleaseResult } from '../domain/release/release.ts';
import type { ArtifactStore } from './artifactStore.ts';

/** A target's name, which another project's target with the same store may have too, and its workflow's id. */
export interface NamedTarget {
  readonly name: string;
  readonly workflowId: string;
}

/** The records of a target's releases and rollbacks, newest first. Record names begin with the start time. */
export async function* releaseRecords(
  store: Pick<ArtifactStore, 'listRecords' | 'getRecord'>,
  { name: target, workflowId: targetId }: NamedTarget,
  releaseId?: string,
): AsyncGenerator<ReleaseResult> {
  const names = await store.listRecords(`${target}/`);
  const called = names.filter((name) => releaseId === undefined || name.endsWith(`-${releaseId}.json`));
  for (const name of called.reverse()) {
    const record = (await store.getRecord(name)) as ReleaseRecord | undefined;
    if (record === undefined) continue;
    const { workflowId, ...result } = record;
    if (workflowId === `${targetId}/${result.releaseId}`) yield result;
  }
}
