/** The situations that sequences must reach for the model to test them. A long run must reach all of them. */
const SITUATIONS = [
  'a restore asks another check than the release did',
  'a restored revision stays although its check fails',
  'a release is approved',
  'a release is rejected at its approval',
  'a release waits for approval over a copy',
  'a release is approved over a copy',
  'a release is stopped at its approval over a copy',
  'the deployment is changed by hand while a release waits',
  'a release waits for a freeze',
  'a freeze ends',
  'a freeze refuses',
  'a freeze is overridden',
  'a freeze is skipped',
  'a person ends a freeze',
  'a release is stopped while it is frozen',
  'the target is terminated while it is idle',
  'the target is terminated while a release runs',
  'the target is terminated while releases wait',
  'the target is terminated on hold',
  'the target is terminated with a quarantine',
  'the target is terminated while a copy serves',
  'the target is canceled while it is idle',
  'the target is canceled while a release runs',
  'a canceled target is rolled back',
  'the target is reset while it is idle',
  'the target is reset while a release runs',
  'a release is canceled in Temporal',
  'a release is terminated in Temporal',
  'a copy serves',
  'a release is made over a copy',
  'a copy is left',
  'answers are slow while a release runs',
  'answers are slow during a rollback',
  'create exceeds its deadline',
  'upload exceeds its deadline',
  'patch exceeds its deadline',
  'check exceeds its deadline',
  'redeploy exceeds its deadline',
  'another spelling is refused while a release runs',
  'another spelling is refused while nothing runs',
  'a submission is withdrawn before it arrives',
  'a submission is withdrawn while its release waits',
  'a submission is withdrawn while its release runs',
  'a submission is withdrawn while another one of its release stands',
  'a release comes again while it is stopped',
  'a late revision is countered',
  'a release that waits makes way for the rollback from a late revision',
  'a rollback preempts a release',
  'a rollback of an idle target',
  'a person holds a target that a rollback holds',
  'an artifact is quarantined by its failures',
  'the worker is lost while a release runs',
  'a check fails in a soak',
  'a check that failed in a soak fails on what is restored',
  'an agent falls silent in a soak',
  'another revision replaces one that soaks',
  'the time of a soak is skipped',
  'a release is stopped in its soak',
  'a rollback to the revision that soaks ends its soak',
  'a person skips a soak',
  'a guard makes way for a release',
  'a guard makes way for a rollback',
  'a guard begins again after a release',
  'a guard begins again after a rollback',
  'a guard begins again on a copy',
  'a guard finds another revision',
  'a guard rolls back an idle target',
  'a guard rolls back while a release waits',
  'a guard rolls back while a release is frozen',
  'a guard rolls back without a hold',
  'a guard passes',
  'a guard passes while a release waits',
  'a guard that passed serves again',
  'a guard without data rolls back',
  'a guard without data at its end rolls back',
  'a guard without data goes on',
  'a person cancels a guard',
  'a person terminates a guard',
  'a guard that a person canceled serves again',
  'a guard that a person terminated serves again',
] as const;

export type Situation = (typeof SITUATIONS)[number];

/** How many sequences reached each situation. */
export class SituationCounts {
  readonly #counts = new Map<Situation, number>(SITUATIONS.map((situation) => [situation, 0]));

  add(met: ReadonlySet<Situation>): void {
    for (const situation of met) this.#counts.set(situation, (this.#counts.get(situation) ?? 0) + 1);
  }

  get lines(): readonly string[] {
    return [...this.#counts].map(([situation, count]) => `${count} x ${situation}`);
  }

  get missing(): readonly Situation[] {
    return SITUATIONS.filter((situation) => this.#counts.get(situation) === 0);
  }
}
