import type { InterventionKind } from '../intervention/intervention.ts';

/** What somebody asks for. A proof of their identity is bound to it, and counts for nothing else. */
export interface Statement {
  readonly action: 'release' | 'promote' | 'rollback' | InterventionKind;
  /** The workflow that is asked: of the target for a release or a rollback, else of the release or the promotion. */
  readonly workflowId: string;
  /** The id of the message; of a release, its request key. */
  readonly requestId: string;
}

/** Proves who says something. @returns the name of the record with the proof; `undefined`: the name stays claimed. */
export type Prove = (statement: Statement) => Promise<string | undefined>;
