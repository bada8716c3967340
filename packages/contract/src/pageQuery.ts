import { z } from 'zod';

import { INTEGER_MAX, PAGE_LIMIT } from './limits.ts';
import { queryInteger } from './scalars.ts';

/** The query of a paged list (public relative): `limit` 1–100, 20 by default, and `offset` from 0. */
export const PageQuery = z.object({
  limit: queryInteger(PAGE_LIMIT.min, PAGE_LIMIT.max).default(PAGE_LIMIT.default),
  offset: queryInteger(0, INTEGER_MAX).default(0),
});
export type PageQuery = z.infer<typeof PageQuery>;
