import type { InterventionKind } from '../intervention/intervention.ts';

/** What a person asks for. A proof of identity is bound to one statement and is valid for no other. */
export interface Statement {
  readonly action: 'release' | 'promote' | 'rollback' | InterventionKind;
  /** The workflow that gets the request: the target's for a release or a rollback, else the running work's own. */
  readonly workflowId: string;
  /** The id of the message; for a release, its request key. */
  readonly requestId: string;
}

/** Proves who sends a message. @returns the record with the proof; `undefined`: the name stays claimed. */
export type Prove = (statement: Statement) => Promise<string | undefined>;
