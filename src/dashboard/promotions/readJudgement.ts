import { openArtifactStore } from '../../artifact/openArtifactStore.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { JudgeReport } from '../../domain/judge/report.ts';
import type { Trial } from '../../domain/judge/trial.ts';
import type { ListedPromotion } from '../../temporal/client/promotion/listPromotions.ts';
import type { JudgementShown } from './judgement.tsx';

/** The judge's report on a promotion's candidate, with its runs; `null` if there is none or it cannot be read. */
export async function readJudgement({ view, request }: ListedPromotion): Promise<JudgementShown | null> {
  const judgement =
    view.state === 'running'
      ? view.progress?.judgement
      : view.state === 'ended'
        ? view.result.judgement
        : undefined;
  if (judgement == null) return null;
  try {
    const store = openArtifactStore(request.store);
    const report = (await store.getRecord(judgement.report)) as JudgeReport | undefined;
    if (report === undefined) return null;
    const folder = judgement.report.replace(/[^/]+$/, 'trials/');
    const names = await store.listRecords(folder);
    const batches = await Promise.all(names.map((name) => store.getRecord(name)));
    return { report, trials: (batches as (readonly Trial[])[]).flat() };
  } catch (error) {
    if (error instanceof SlipwayError) return null;
    throw error;
  }
}
