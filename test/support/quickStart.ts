/**
 * Options for Node: it compiles the embedded database's engine quickly, and does not optimize it after that. Optimizing
 * takes 1.6 s of processor after each start, which a process that lives for seconds does not get back.
 */
export const QUICK_START: readonly string[] = ['--liftoff-only'];
