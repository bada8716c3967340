/**
 * The search attributes of Slipway's workflows: keywords, never encrypted, so none holds a secret. The worker refuses
 * to start until they are registered, because an unregistered one fails starts and wedges upserts.
 */
export const SEARCH_ATTRIBUTES = {
  /** The target's name. */
  target: 'SlipwayTarget',
  /** `running`, then the outcome. */
  outcome: 'SlipwayOutcome',
  /** The artifact's digest, image URI or ref. */
  artifact: 'SlipwayArtifact',
  /** The revision that the release made, or that the rollback put back. */
  revision: 'SlipwayRevision',
  /** The commit that was released. */
  commit: 'SlipwayCommit',
} as const;

export type SearchAttributeName = (typeof SEARCH_ATTRIBUTES)[keyof typeof SEARCH_ATTRIBUTES];
