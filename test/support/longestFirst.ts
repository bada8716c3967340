import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The slowest files, slowest first. A slow file that starts last would delay the whole run. */
const LONG = [
  'e2e/readme',
  'e2e/crash/crashMatrix',
  'e2e/tutorial',
  'e2e/mainJob',
  'e2e/chaos/chaos',
  'e2e/promotions',
  'e2e/exitCodes',
  'workflows/target/targetRecovery',
  'workflows/model/model',
  'dashboard/browser/targets',
  'dashboard/browser/actions',
  'workflows/promotion/promotionSubmission',
  'workflows/words',
  'workflows/release/ambiguousAnswers',
  'workflows/restore/restore',
  'workflows/promotion/promotion',
  'workflows/release/patch',
  'workflows/target/target',
  'workflows/judge/promotionJudge',
].map((name) => `/test/${name}.test.ts`);

/** Starts with the slowest files: a fresh clone has no timings of earlier runs. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}

function rank({ moduleId }: TestSpecification): number {
  const place = LONG.findIndex((path) => moduleId.endsWith(path));
  return place === -1 ? LONG.length : place;
}
