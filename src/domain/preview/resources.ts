/**
 * What a preview of an image gets by default (contract 000, "ResourceSpec"): one replica with the least CPU that the
 * contract takes. It bounds memory by nothing; this much runs a small agent.
 */
export const SMALLEST_RESOURCES = { min_scale: 1, max_scale: 1, cpu: 0.1, memory_mb: 256 } as const;

/** What a deployment gets that cannot be deleted: no replica where nobody asks for one. */
export const PARKED_RESOURCES = { ...SMALLEST_RESOURCES, min_scale: 0 } as const;
