import { formatDuration } from '../../../domain/duration.ts';
import { formatClock, formatInstant } from '../../../domain/freeze/zonedTime.ts';
import type { PromotionResult } from '../../../domain/promotion/promotion.ts';
import { outcomeExitCode } from '../../../domain/release/outcome.ts';
import type { ReleaseResult, StepRecord } from '../../../domain/release/release.ts';
import type { Rehearsal, RehearsalEvent } from '../../../rehearsal/play.ts';
import type { Rehearsed } from '../../../rehearsal/rehearse.ts';
import type { EventOf } from '../../events/index.ts';
import type { Output } from '../../output.ts';
import { outcomeWords, promotionWords } from '../../ui/endingText.ts';
import { stepLine } from '../../ui/progressLines.ts';
import { counted, MARKS } from '../../ui/text.ts';

type Release = EventOf<'rehearsed_release'>;
type Promotion = EventOf<'rehearsed_promotion'>;
type Shown =
  (Partial<Release> & { target: string }) | (Partial<Promotion> & Pick<Promotion, 'name' | 'state'>);

/** Prints what happened in a rehearsal, ordered by start. */
export class Story {
  readonly #output: Output;
  readonly #rehearsal: Rehearsal;

  constructor(output: Output, rehearsal: Rehearsal) {
    this.#output = output;
    this.#rehearsal = rehearsal;
  }

  print({ startedAt, unmet }: Rehearsed, events: readonly RehearsalEvent[], tookMs: number): void {
    const { days } = this.#rehearsal;
    const { style } = this.#output;
    for (const event of events.toSorted((one, other) => one.at - other.at)) this.#printEvent(event);
    for (const { text } of unmet) {
      this.#output.event({ event: 'rehearsal_unmet', injection: text });
      this.#output.print(style.warn(`${MARKS.warning} never happened: ${text}`));
    }
    this.#output.event({
      event: 'rehearsal_ended',
      startedAt: new Date(startedAt).toISOString(),
      days,
      tookMs: Math.round(tookMs),
    });
    const rehearsed = `${counted(days, 'day')} rehearsed`;
    this.#output.print(style.strong(`${rehearsed} in ${formatDuration(tookMs)}`));
  }

  #printEvent(event: RehearsalEvent): void {
    const { at } = event;
    switch (event.kind) {
      case 'release': {
        const { target, result } = event;
        const zone = this.#begin(at, { target, result });
        // The steps of a successful release are left out.
        this.#printResult(result, result.outcome === 'released' ? [] : result.steps, zone);
        return;
      }
      case 'refused': {
        const { target, reason } = event;
        this.#line(at, this.#begin(at, { target, reason }), `refused: ${reason}`);
        return;
      }
      case 'promotion': {
        const { name, result } = event;
        const zone = this.#begin(at, { name, state: 'ended', result });
        this.#printResult(result, result.nothingToDo ? [] : result.steps, zone);
        return;
      }
      case 'overlap': {
        const { name, what } = event;
        const words = { left_out: 'is left out', done_after: 'is done after it' }[what];
        const zone = this.#begin(at, { name, state: what });
        this.#line(at, zone, `${words}: the promotion of an earlier time is still running`);
        return;
      }
      case 'goes_on': {
        const { what, name, progress } = event;
        const shown = what === 'release' ? { target: name } : ({ name, state: 'goes_on' } as const);
        const zone = this.#begin(at, { ...shown, progress });
        for (const step of progress?.steps ?? []) {
          if (step.endedAt !== undefined && isShown(step)) this.#step(step, zone);
        }
        const waits = progress?.waiting?.note ?? progress?.phase ?? 'waits for its turn';
        this.#output.print(`  ${this.#output.style.warn(`${MARKS.running} still running: ${waits}`)}`);
        return;
      }
    }
  }

  /** Prints what the next lines are about. @returns their time zone. */
  #begin(time: number, shown: Shown): string {
    const at = new Date(time).toISOString();
    const isRelease = 'target' in shown;
    if (isRelease) {
      const absent = { result: null, reason: null, progress: null };
      this.#output.event({ event: 'rehearsed_release', at, ...absent, ...shown });
    } else {
      this.#output.event({ event: 'rehearsed_promotion', at, result: null, progress: null, ...shown });
    }
    const zone = isRelease ? this.#zoneOfTarget(shown.target) : this.#zoneOf(shown.name);
    const title = isRelease ? `release on ${shown.target}` : shown.name;
    this.#output.print(`${formatInstant(time, zone)}  ${this.#output.style.strong(title)}`);
    return zone;
  }

  #printResult(result: PromotionResult | ReleaseResult, steps: readonly StepRecord[], zone: string): void {
    const { style } = this.#output;
    const lines = [
      // A command is printed before its effect.
      ...result.interventions.map((said) => ({ at: Date.parse(said.at), said })),
      ...steps.filter(isShown).map((step) => ({ at: Date.parse(step.startedAt), step })),
    ].sort((one, other) => one.at - other.at);
    for (const line of lines) {
      if ('step' in line) {
        this.#step(line.step, zone);
        continue;
      }
      const { by, kind, taken, note } = line.said;
      this.#line(line.at, zone, `${by.who}: ${kind}, ${taken ? note : `rejected: ${note}`}`);
    }
    const mark = style.mark(outcomeExitCode('release', result.outcome) === 0);
    const words = 'nothingToDo' in result ? promotionWords(result) : outcomeWords(result.outcome);
    this.#line(Date.parse(result.endedAt), zone, `${mark} ${words}: ${result.reason}`);
  }

  #step(step: StepRecord, zone: string): void {
    const { style, columns } = this.#output.screen();
    // A log keeps the whole line; a terminal would wrap it in the middle of an id.
    const line = stepLine(step, [], { style, columns: columns - CLOCK_WIDTH, now: 0 });
    this.#line(Date.parse(step.startedAt), zone, line.trimStart());
  }

  #line(at: number, zone: string, what: string): void {
    this.#output.print(`  ${this.#output.style.faint(formatClock(at, zone))}  ${what}`);
  }

  #zoneOf(name: string): string {
    const { promotions, timeZone } = this.#rehearsal;
    return promotions.find(({ request }) => request.name === name)?.schedule?.timeZone ?? timeZone;
  }

  #zoneOfTarget(target: string): string {
    const { promotions, timeZone } = this.#rehearsal;
    const onwards = promotions.find(({ request }) => request.from.name === target);
    return onwards === undefined ? timeZone : this.#zoneOf(onwards.request.name);
  }
}

/** Read-only and recording steps are printed only if something is wrong. */
function isShown({ step, status }: StepRecord): boolean {
  return status !== 'done' || (step !== 'candidate' && step !== 'record');
}

const CLOCK_WIDTH = '2026-11-21 16:00'.length + 4;
