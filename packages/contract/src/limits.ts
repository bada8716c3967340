/**
 * Every bound of the wire. Contract 000, "Limits" shows only the CPU bounds ("Rate limits, bounds on scale and memory
 * values, and payload sizes: not shown"). The others are our decisions, and say so.
 */

/** The largest source tarball, in bytes: 200 MB (public API: `X-Goog-Content-Length-Range: 0,209715200`). */
export const ARTIFACT_MAX_BYTES = 209_715_200;

/** CPU requests, in cores (contract 000, "Limits": `cpu`, `queue_cpu`, `cache_cpu`). */
export const CPU_REQUEST = { min: 0.1, max: 8 } as const;

/** CPU limits, in cores (contract 000, "Limits": `cpu_limit`, `queue_cpu_limit`, `cache_cpu_limit`). */
export const CPU_LIMIT = { min: 0.1, max: 16 } as const;

/** How many resources a list returns (public API: `limit`). */
export const PAGE_LIMIT = { min: 1, max: 100, default: 20 } as const;

/** How many log lines one request for build logs returns. Decision: the public API has no bound. */
export const LOG_LIMIT = { min: 1, max: 1000, default: 100 } as const;

/** How many ids one query may have (public API: 100 for deletions). */
export const LIST_IDS_MAX = 100;

/** Integers of the wire have 32 bits (decision: replica counts, megabytes and offsets need no more). */
export const INTEGER_MAX = 2_147_483_647;

/** A deployment's name, in characters. Decision. */
export const DEPLOYMENT_NAME_MAX = 128;

/** Any other short text: paths, references, commands, URLs, in characters. Decision. */
export const TEXT_MAX = 4096;

/** The name of an environment variable or of a cluster object, in characters (as in Kubernetes: 253). Decision. */
export const NAME_MAX = 253;

/** The header `Idempotency-Key`, in characters. Decision: the IETF draft has no bound. */
export const IDEMPOTENCY_KEY_MAX = 255;

/** A DNS label, in characters (RFC 1123). */
export const DNS_LABEL_MAX = 63;

/** A secret's value, in UTF-8 bytes. Decision: half of Linux's limit for an environment variable (128 KiB). */
export const SECRET_VALUE_MAX_BYTES = 65_536;

/** Entries of one list (secrets, volumes, containers, …). Decision. */
export const LIST_MAX = 1000;

/** Feedback keys of one run. Decision: each makes one pre-signed link. */
export const FEEDBACK_KEYS_MAX = 100;

/** The longest timeout of a run, in seconds: a day. Decision. */
export const RUN_TIMEOUT_MAX_SECONDS = 86_400;

/** An item's namespace and key, in UTF-8 bytes each (decision): PostgreSQL's index row holds some 2,700. */
export const ITEM_ADDRESS_MAX_BYTES = 1_000;

/** A feedback comment, in characters. Decision. */
export const COMMENT_MAX = 65_536;

/** An annotation's text, in characters (as in Kubernetes: 256 KiB for all together). Decision. */
export const ANNOTATION_MAX = 262_144;
