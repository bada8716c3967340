import type { ArtifactStore } from '../../artifact/artifactStore.ts';
import type { CheckVerdict } from '../../domain/release/release.ts';

/** The answers that were too long for their verdicts, by record name, if the store has them. */
export async function wholeAnswers(
  store: ArtifactStore,
  verdicts: readonly CheckVerdict[],
): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  for (const { answerRecord } of verdicts) {
    if (answerRecord === undefined || answers.has(answerRecord)) continue;
    const answer = await store.getRecord(answerRecord);
    if (typeof answer === 'string') answers.set(answerRecord, answer);
  }
  return answers;
}
