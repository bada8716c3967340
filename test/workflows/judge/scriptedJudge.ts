import { Context } from '@temporalio/activity';

import type { JudgementInput } from '../../../src/activities/activities.ts';
import type { ErrorCode } from '../../../src/domain/errors.ts';
import type { JudgeReport } from '../../../src/domain/judge/report.ts';
import type { JudgeVerdict } from '../../../src/domain/judge/verdict.ts';
import { madeReport } from '../../domain/judge/madeReport.ts';
import type { World } from '../world.ts';

/** What the judge is told to say; `never`: it judges until it is told to stop. */
export type Said = JudgeVerdict | { readonly away: ErrorCode } | 'never';

const BEAT_MS = 20;

/** A judge that says of each world's candidates what a test has told it to, in order; then that they are no worse. */
export class ScriptedJudge {
  readonly #asked: JudgementInput[] = [];
  readonly #says = new Map<string, Said[]>();

  /** What is said of the next candidates for a world. */
  says(of: World, ...said: Said[]): void {
    this.#says.set(of.id, said);
  }

  /** What it was asked about candidates for a world, in order. */
  askedFor(world: World): readonly JudgementInput[] {
    return this.#asked.filter(({ store }) => worldOf(store) === world.id);
  }

  /** The activity. */
  async judgeCandidate(
    input: JudgementInput,
  ): Promise<{ readonly report: JudgeReport; readonly location: string }> {
    this.#asked.push(input);
    const said = this.#says.get(worldOf(input.store))?.shift() ?? 'passed';
    const context = Context.current();
    while (said === 'never') {
      context.heartbeat();
      await context.sleep(BEAT_MS);
    }
    const location = `judgements/${input.judgementId}/report.json`;
    if (typeof said === 'string') return { report: madeReport(said), location };
    const error = { side: 'candidate', code: said.away, message: 'not as it was' } as const;
    return { report: madeReport('errored', { error, reasons: [`the candidate: ${said.away}`] }), location };
  }
}

/** The world whose promotions keep their records there. */
function worldOf(store: string): string {
  return new URL(store).pathname.slice(1);
}
