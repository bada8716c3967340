/** Why a workflow refuses a query, or the task after one: it is to be rebuilt from its history (`taskBoundaries.ts`). */
export const QUERY_TOO_EARLY = 'the workflow has not handled its newest events yet: ask again';
/** The header of a query to a closed workflow, whose newest events no workflow task will ever bring. */
export const QUERY_CLOSED_HEADER = 'slipway-closed';
