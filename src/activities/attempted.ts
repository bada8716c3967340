/** A result with the number of its attempt (from 1). A local activity also returns its duration in milliseconds. */
export type Attempted<T> = T & { readonly attempt: number; readonly tookMs?: number };
