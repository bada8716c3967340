/**
 * How one-activity-per-step Temporal is set up.
 *
 * - `plain`: server, worker and client with their defaults.
 * - `tuned`: the dev server with a write-ahead log, eager activities and busier queues; a prebuilt bundle; slots for
 *   every waiting release. No eager workflow start: it needs client and worker in one process.
 * - `local`: the same, and the reads that change nothing are local activities.
 */
export type Variant = 'plain' | 'tuned' | 'local';
