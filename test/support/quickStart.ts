/**
 * Options for Node: it compiles the embedded database's engine quickly and does not optimize it later. Optimization
 * takes 1.6 s of CPU after each start, which does not pay off in a short process.
 */
export const QUICK_START: readonly string[] = ['--liftoff-only'];
