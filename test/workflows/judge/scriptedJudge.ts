import { Context } from '@temporalio/activity';

import type { JudgementInput } from '../../../src/activities/activities.ts';
import type { ErrorCode } from '../../../src/domain/errors.ts';
import type { JudgeReport } from '../../../src/domain/judge/report.ts';
import type { JudgeVerdict } from '../../../src/domain/judge/verdict.ts';
import { madeReport } from '../../domain/judge/madeReport.ts';
import type { World } from '../world.ts';

/** A scripted verdict. `never`: the judge runs until it is canceled. */
export type Said = JudgeVerdict | { readonly away: ErrorCode } | 'never';

const BEAT_MS = 20;

/** A judge that returns each world's scripted verdicts in order, and then `passed`. */
export class ScriptedJudge {
  readonly #asked: JudgementInput[] = [];
  readonly #says = new Map<string, Said[]>();

  says(of: World, ...said: Said[]): void {
    this.#says.set(of.id, said);
  }

  /** The judgements that were requested for a world, in order. */
  askedFor(world: World): readonly JudgementInput[] {
    return this.#asked.filter(({ store }) => worldOf(store) === world.id);
  }

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

/** The world whose promotions use this record store. */
function worldOf(store: string): string {
  return new URL(store).pathname.slice(1);
}
