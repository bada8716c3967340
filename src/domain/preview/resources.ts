/** An image's preview by default: one replica, the least CPU of the contract, memory for a small agent. */
export const SMALLEST_RESOURCES = { min_scale: 1, max_scale: 1, cpu: 0.1, memory_mb: 256 } as const;

/** The resources of a deployment that cannot be deleted: no replica without requests. */
export const PARKED_RESOURCES = { ...SMALLEST_RESOURCES, min_scale: 0 } as const;
