/** The message with which a workflow rejects an early query, and fails the task after one (`taskBoundaries.ts`). */
export const QUERY_TOO_EARLY = 'the workflow has not handled its newest events yet: ask again';
/** The header of a query to a closed workflow, which gets no workflow task for its newest events. */
export const QUERY_CLOSED_HEADER = 'slipway-closed';
