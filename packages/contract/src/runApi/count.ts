import { z } from 'zod';

/** What the counts of the public client answer: a bare number. */
export const Count = z.int().min(0);
export type Count = z.infer<typeof Count>;
