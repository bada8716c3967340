/**
 * How one-activity-per-step Temporal is set up.
 *
 * - `plain`: server, worker and client with their defaults.
 * - `tuned`: the dev server with a write-ahead log, eager activities and busier queues; eager start of workflows; a
 *   prebuilt bundle; slots for every release that waits.
 * - `local`: the same, and the reads that change nothing are local activities.
 */
export type Variant = 'plain' | 'tuned' | 'local';
