import type { Selectable } from 'kysely';

import type { RunningAgent } from '../../runtime/agentStart.ts';
import type { RevisionsTable } from '../../store/schema.ts';
import type { StartLimits } from '../dependencies.ts';

/** What of a revision says what it is made from. */
export type SourceConfiguration = Pick<
  Selectable<RevisionsTable>,
  'source_config' | 'source_revision_config'
>;

/** One of the sources of contract 000: what a revision is made from, and how that is had. */
export type Source = TreeSource | ImageSource;

/** A source whose tree is built: unpacked, installed, checked. */
export interface TreeSource {
  readonly kind: 'tree';
  /** Whether there is anything to build it from yet. */
  hasSource(configuration: SourceConfiguration): boolean;
  /** Gets the tree. Never throws for what the source did; a full disk, and faults of the platform, are thrown. */
  fetch(revision: Selectable<RevisionsTable>, surroundings: FetchSurroundings): Promise<FetchedTree>;
}

/** What a tree is got with. */
interface FetchSurroundings {
  /** An empty directory, removed when the revision is built. */
  readonly scratch: string;
  /** Takes the build's log, line by line. */
  readonly log: (line: string) => void;
  /** Calls it off; nothing of it is left running. What is answered then is of no importance. */
  readonly signal: AbortSignal;
}

/** A source that is run as it is: its revisions are never built. */
export interface ImageSource {
  readonly kind: 'image';
  /** Whether there is anything to run yet. */
  hasSource(configuration: SourceConfiguration): boolean;
  /** Why a revision of it ends `DEPLOY_FAILED` before anything is started; undefined where nothing is in the way. */
  undeployable(revision: Selectable<RevisionsTable>): Promise<string | undefined>;
  /** What the revision's log says before it is started. */
  remarks(revision: Selectable<RevisionsTable>): Promise<string[]>;
  /** Runs it and resolves once it answers. `env` holds secrets. @throws an error that says why it does not answer. */
  start(
    revision: Selectable<RevisionsTable>,
    start: StartLimits & { readonly env: Record<string, string>; readonly log: (line: string) => void },
  ): Promise<RunningAgent>;
}

/** Where a tree lies, as a gzipped tarball; or why it could not be had, for the person whose source it is. */
type FetchedTree =
  { readonly ok: true; readonly tarball: string } | { readonly ok: false; readonly reason: string };
