/** What somebody asks for. A proof of their identity is bound to it, and counts for nothing else. */
export interface Statement {
  readonly action: 'release' | 'approve' | 'rollback';
  /** The workflow that is asked: of the target for a release or a rollback, of the release for its approval. */
  readonly workflowId: string;
  /** The id of the message; of a release, its request key. */
  readonly requestId: string;
}
