import { z } from 'zod';

/** A moment, as the command itself writes it. */
export const Instant = z.iso.datetime({ offset: true });

/** What the command ends with. */
export const ExitCode = z.int().min(0).max(255).describe('What the command ends with');

/** How many there are of something, or how long it takes in milliseconds. */
export const Count = z.int().min(0);

/**
 * One of some words, to which others may come without a new version: programs must bear those that they do not know.
 *
 * @param where - where they are listed. Default: in the published schema.
 */
export function openWords<const Words extends readonly string[]>(words: Words, where?: string) {
  return z.enum(words).meta({ [OPEN]: where ?? true });
}

/** Marks {@link openWords} for who publishes them: `true`, or where they are listed. */
export const OPEN = 'slipwayOpenWords';

/** A field that is left out where it does not apply. */
export const maybe = z.exactOptional;

/**
 * The line of an event: exactly these fields. What is printed is held to that; who reads it passes over fields that it
 * does not know (`publishedSchema.ts`).
 *
 * @param when - when it is printed, in words.
 */
export function event<const Name extends string, Fields extends z.core.$ZodLooseShape>(
  name: Name,
  when: string,
  fields: Fields,
) {
  return z.strictObject({ event: z.literal(name), ...fields }).describe(when);
}
