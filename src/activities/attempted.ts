/**
 * An activity's result with the number of the attempt that produced it (from 1), which the workflow cannot know
 * otherwise. A local activity also returns its duration, in milliseconds.
 */
export type Attempted<T> = T & { readonly attempt: number; readonly tookMs?: number };
