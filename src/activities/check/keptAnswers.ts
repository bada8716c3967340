import { createHash } from 'node:crypto';

import { Context } from '@temporalio/activity';

import { openArtifactStore } from '../../artifact/openArtifactStore.ts';
import { cutText } from '../../domain/bounds.ts';

/** Of an answer, as JSON. */
const KEPT_MAX_BYTES = 1_000_000;

/**
 * Keeps a whole answer among the records of the artifact store, under its digest. Keeping it again changes nothing.
 *
 * @returns the record's name; `undefined` if the store is away: the verdict stands without it.
 */
export async function keepAnswer(store: string, answer: string): Promise<string | undefined> {
  const kept = cutText(answer, KEPT_MAX_BYTES);
  const digest = createHash('sha256').update(kept).digest('hex');
  // No target's name begins so: its releases' records stand beside.
  const name = `_answers/${digest}.json`;
  try {
    await openArtifactStore(store).putRecord(name, kept);
    return name;
  } catch (error) {
    Context.current().log.warn('an answer could not be kept in the artifact store', { error: String(error) });
    return undefined;
  }
}
