/** Node 20 then optimizes JavaScript only once it has run eight times as long. Newer ones have no such option. */
const OPTIMIZE_LATER = process.version.startsWith('v20.') ? ['--interrupt-budget=1000000'] : [];

/** Node's options to compile the embedded database's engine quickly, without optimization (1.6 s of CPU). */
export const QUICK_START: readonly string[] = ['--liftoff-only', ...OPTIMIZE_LATER];
