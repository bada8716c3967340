/** Node 20 then optimizes JavaScript only once it has run eight times as long. Newer ones have no such option. */
const OPTIMIZE_LATER = process.version.startsWith('v20.') ? ['--interrupt-budget=1000000'] : [];

/**
 * Options for Node: it compiles the embedded database's engine quickly and does not optimize it later. Optimization
 * takes 1.6 s of CPU after each start, which does not pay off in a short process.
 */
export const QUICK_START: readonly string[] = ['--liftoff-only', ...OPTIMIZE_LATER];
