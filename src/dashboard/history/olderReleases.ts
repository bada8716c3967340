import pLimit from 'p-limit';

import type { ArtifactStore } from '../../artifact/artifactStore.ts';
import { openArtifactStore } from '../../artifact/openArtifactStore.ts';
import { DAY_MS } from '../../domain/duration.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { type PastRelease, pastOfResult } from '../../domain/release/pastRelease.ts';
import type { ReleaseRecord } from '../../domain/release/release.ts';
import type { TargetHistory } from '../../temporal/client/release/pastReleases.ts';

interface OlderReleases {
  /** Newest first. */
  readonly releases: readonly PastRelease[];
  /** Why some are missing; `null`: none is. */
  readonly missing: string | null;
}

const READS_AT_ONCE = 16;
const RECORDS_READ = 500;
/** How many of them are cached: a record never changes. */
const REMEMBERED = 5_000;
const remembered = new Map<string, Recorded>();
/** Shared by all targets. */
const reads = pLimit(READS_AT_ONCE);

/** The cached part of a record: a whole record may be large. */
interface Recorded {
  readonly past: PastRelease;
  readonly workflowId: string;
}

/**
 * Reads from its records the releases of a target that are older than those in its workflow.
 * @param from - the earliest end of a release to read: milliseconds since 1970.
 * @param open - opens the store. Default: the store that the URL names.
 */
export async function olderReleases(
  { workflowId, name, releases, olderIn }: TargetHistory,
  from: number,
  open: (url: string) => Pick<ArtifactStore, 'listRecords' | 'getRecord'> = openArtifactStore,
): Promise<OlderReleases> {
  const oldest = releases.at(-1)?.endedAt ?? null;
  if (olderIn === null || (oldest !== null && Date.parse(oldest) < from)) return NONE;
  const known = new Set(releases.map(({ releaseId }) => releaseId));
  try {
    const store = open(olderIn);
    const names = (await store.listRecords(`${name}/`)).filter((record) => {
      const { time, releaseId } = RECORD.exec(record)?.groups ?? {};
      return releaseId !== undefined && !known.has(releaseId) && timeOf(time ?? '') >= from - LONGEST_MS;
    });
    const newest = names.slice(-RECORDS_READ).reverse();
    const found = await reads.map(newest, (record) => readRecord(store, olderIn, record));
    return {
      // Another target with the same name, on another control plane, may have its records in the same store.
      releases: found.flatMap((record) =>
        record?.workflowId === `${workflowId}/${record?.past.releaseId}` ? [record.past] : [],
      ),
      missing: newest.length < names.length ? `only its newest ${RECORDS_READ} records were read` : null,
    };
  } catch (error) {
    if (!(error instanceof SlipwayError)) throw error;
    return { releases: [], missing: `its older records cannot be read here: ${error.message}` };
  }
}

const NONE: OlderReleases = { releases: [], missing: null };

/** The format of `recordActivities.ts`. */
const RECORD = /^[^/]+\/(?<time>\d{4}-\d\d-\d\dT[\d-]+Z)-(?<releaseId>(?:release|rollback)-\d+)\.json$/u;
/** A record is named by its release's start, but selected by its release's end. */
const LONGEST_MS = 30 * DAY_MS;

function timeOf(text: string): number {
  return Date.parse(text.replace(/T(\d\d)-(\d\d)-(\d\d)-(\d+)Z$/u, 'T$1:$2:$3.$4Z'));
}

async function readRecord(
  store: Pick<ArtifactStore, 'getRecord'>,
  url: string,
  name: string,
): Promise<Recorded | undefined> {
  const key = `${url} ${name}`;
  const before = remembered.get(key);
  if (before !== undefined) return before;
  const result = (await store.getRecord(name)) as ReleaseRecord | undefined;
  if (result === undefined) return undefined;
  if (remembered.size >= REMEMBERED) remembered.clear();
  const recorded = { past: pastOfResult(result), workflowId: result.workflowId };
  remembered.set(key, recorded);
  return recorded;
}
