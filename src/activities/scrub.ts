import { AsyncLocalStorage } from 'node:async_hooks';

import { ApplicationFailure } from '@temporalio/activity';

import { removeSecrets } from '../clients/removeSecrets.ts';
import { knownSecrets } from '../config/secretReference.ts';

/** The fields of results that hold what a service or an agent said; the others are ids, addresses and numbers. */
const TEXTS: ReadonlySet<string> = new Set(['answer', 'detail', 'message', 'reason', 'reasons']);

const secrets = new AsyncLocalStorage<readonly string[]>();

/**
 * Runs an activity so that {@link scrubText} knows the secrets that its input refers to, and removes them from its result
 * and from what it throws.
 */
export async function scrubbed<T>(input: unknown, work: () => Promise<T>): Promise<T> {
  return secrets.run(knownSecrets(input), async () => {
    try {
      return scrubTexts(await work(), false) as T;
    } catch (error) {
      if (error instanceof ApplicationFailure) {
        error.message = scrubText(error.message);
        if (error.stack !== undefined) error.stack = scrubText(error.stack);
      }
      throw error;
    }
  });
}

/** Removes the secrets of the activity that runs from a text of others. */
export function scrubText(text: string): string {
  return removeSecrets(text, secrets.getStore() ?? []);
}

function scrubTexts(value: unknown, isText: boolean): unknown {
  if (typeof value === 'string') return isText ? scrubText(value) : value;
  if (Array.isArray(value)) return value.map((part) => scrubTexts(part, isText));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, scrubTexts(part, isText || TEXTS.has(name))]),
  );
}
