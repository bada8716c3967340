import { AsyncLocalStorage } from 'node:async_hooks';

import { ApplicationFailure, Context } from '@temporalio/activity';

import { removeSecrets, removeSecretsFromTexts } from '../clients/removeSecrets.ts';
import { knownSecrets } from '../config/secretReference.ts';

const secrets = new AsyncLocalStorage<readonly string[]>();

/** Runs an activity, and removes the secrets that its input refers to from its result and from what it throws. */
export async function scrubbed<T>(input: unknown, work: () => Promise<T>): Promise<T> {
  return secrets.run(knownSecrets(input), async () => {
    try {
      return scrubTexts(await work());
    } catch (error) {
      if (error instanceof ApplicationFailure) {
        error.message = scrubText(error.message);
        if (error.stack !== undefined) error.stack = scrubText(error.stack);
      }
      throw error;
    }
  });
}

/** Removes the running activity's secrets from a text of another service. */
export function scrubText(text: string): string {
  return removeSecrets(text, secrets.getStore() ?? []);
}

/** Logs an error that does not fail the running activity, without the activity's secrets. */
export function warn(message: string, error: unknown): void {
  Context.current().log.warn(message, { error: scrubText(String(error)) });
}

/** Removes the running activity's secrets from every text in a value that comes from another service. */
export function scrubTexts<T>(value: T): T {
  return removeSecretsFromTexts(value, secrets.getStore() ?? []);
}
