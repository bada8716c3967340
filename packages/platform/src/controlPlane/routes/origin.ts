import type { Context } from 'hono';

/** Under which the platform was reached, or is to be reached: without a slash at the end. */
export type OriginOf = (c: Context) => string;
