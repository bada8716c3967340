/**
 * The search attributes of Slipway's workflows. They are keywords and never encrypted, so they contain no secrets.
 * The worker does not start until they are registered, because an unregistered one makes starts and upserts fail.
 */
export const SEARCH_ATTRIBUTES = {
  /** The target's name. */
  target: 'SlipwayTarget',
  /** `running`, then the outcome. */
  outcome: 'SlipwayOutcome',
  /** The artifact's digest, image URI or ref. */
  artifact: 'SlipwayArtifact',
  /** The revision that the release made, or that the rollback restored. */
  revision: 'SlipwayRevision',
  /** The commit of the release. */
  commit: 'SlipwayCommit',
} as const;

export type SearchAttributeName = (typeof SEARCH_ATTRIBUTES)[keyof typeof SEARCH_ATTRIBUTES];

/** The longest value that all of Temporal's visibility stores accept. */
const VALUE_MAX_CHARACTERS = 255;

/** A search attribute and its value, as the SDK takes them. */
export function attribute(name: keyof typeof SEARCH_ATTRIBUTES, value: string) {
  const key = { name: SEARCH_ATTRIBUTES[name], type: 'KEYWORD' as const };
  return { key, value: value.slice(0, VALUE_MAX_CHARACTERS) };
}
