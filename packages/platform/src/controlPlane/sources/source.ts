import type { Selectable } from 'kysely';

import type { RunningAgent } from '../../runtime/agentStart.ts';
import type { RevisionsTable } from '../../store/schema.ts';
import type { StartLimits } from '../dependencies.ts';
import type { RevisionToWorkOn } from '../deploymentRows.ts';

/** The part of a revision that describes its source. */
type SourceConfiguration = Pick<Selectable<RevisionsTable>, 'source_config' | 'source_revision_config'>;

/** One of the sources of contract 000: how a revision's code is obtained. */
export type Source = TreeSource | ImageSource;

/** A source with a tree to build: unpack, install, check. */
export interface TreeSource {
  readonly kind: 'tree';
  hasSource(configuration: SourceConfiguration): boolean;
  /** Fetches the tree. A failure of the source is a result; a full disk and faults of the platform are thrown. */
  fetch(
    revision: Selectable<RevisionsTable>,
    context: {
      /** An empty directory, removed when the revision is built. */
      readonly scratch: string;
      readonly log: (line: string) => void;
      /** Cancels the fetch; nothing of it keeps running. The result is then ignored. */
      readonly signal: AbortSignal;
    },
  ): Promise<FetchedTree>;
}

/** A source that runs as it is: its revisions are never built. */
export interface ImageSource {
  readonly kind: 'image';
  hasSource(configuration: SourceConfiguration): boolean;
  /** Why a revision ends as `DEPLOY_FAILED` before anything is started; undefined if nothing prevents the start. */
  deployBlocker(revision: Selectable<RevisionsTable>): Promise<string | undefined>;
  /** Lines for the revision's log before the start. */
  logNotes(revision: RevisionToWorkOn): string[];
  /** Runs it and resolves once it answers. `env` contains secrets. @throws why it does not answer. */
  start(
    revision: Selectable<RevisionsTable>,
    start: StartLimits & { readonly env: Record<string, string>; readonly log: (line: string) => void },
  ): Promise<RunningAgent>;
}

/** The path of a tree as a gzipped tarball, or why it could not be fetched, for the source's owner. */
export type FetchedTree =
  { readonly ok: true; readonly tarball: string } | { readonly ok: false; readonly reason: string };
