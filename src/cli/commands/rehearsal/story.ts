import { formatDuration } from '../../../domain/duration.ts';
import { formatClock, formatInstant } from '../../../domain/freeze/zonedTime.ts';
import type { PromotionResult } from '../../../domain/promotion/promotion.ts';
import { outcomeExitCode } from '../../../domain/release/outcome.ts';
import type { ReleaseResult, StepRecord } from '../../../domain/release/release.ts';
import type { Rehearsal, RehearsalEvent } from '../../../rehearsal/play.ts';
import type { Rehearsed } from '../../../rehearsal/rehearse.ts';
import type { Output } from '../../output.ts';
import { counted } from '../../ui/text.ts';
import { OUTCOME_WORDS } from '../../ui/endingText.ts';
import { stepLine } from '../../ui/progressLines.ts';
import { MARKS } from '../../ui/style.ts';

/** Prints what happened in a rehearsal, ordered by start. */
export class Story {
  readonly #output: Output;
  readonly #rehearsal: Rehearsal;
  readonly #events: RehearsalEvent[] = [];

  constructor(output: Output, rehearsal: Rehearsal) {
    this.#output = output;
    this.#rehearsal = rehearsal;
  }

  add(event: RehearsalEvent): void {
    this.#events.push(event);
  }

  /** @param tookMs - the real duration, in milliseconds. */
  tell({ startedAt, unmet }: Rehearsed, tookMs: number): void {
    const { days } = this.#rehearsal;
    const { style } = this.#output;
    for (const event of this.#events.toSorted((one, other) => one.at - other.at)) this.#print(event);
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

  #print(event: RehearsalEvent): void {
    const output = this.#output;
    const at = new Date(event.at).toISOString();
    switch (event.kind) {
      case 'release': {
        const { target, result } = event;
        output.event({ event: 'rehearsed_release', target, at, result, reason: null, progress: null });
        this.#head(event.at, this.#zoneOfTarget(target), `release on ${target}`);
        // The steps of a successful release are left out.
        const steps = result.outcome === 'released' ? [] : result.steps;
        this.#printResult(result, steps, this.#zoneOfTarget(target));
        return;
      }
      case 'refused': {
        const { target, reason } = event;
        output.event({ event: 'rehearsed_release', target, at, result: null, reason, progress: null });
        this.#head(event.at, this.#zoneOfTarget(target), `release on ${target}`);
        this.#line(event.at, this.#zoneOfTarget(target), `refused: ${reason}`);
        return;
      }
      case 'promotion': {
        const { name, result } = event;
        output.event({ event: 'rehearsed_promotion', name, at, state: 'ended', result, progress: null });
        this.#head(event.at, this.#zoneOf(name), name);
        this.#printResult(result, result.nothingToDo ? [] : result.steps, this.#zoneOf(name));
        return;
      }
      case 'overlap': {
        const { name, what } = event;
        output.event({ event: 'rehearsed_promotion', name, at, state: what, result: null, progress: null });
        const words = { left_out: 'is left out', done_after: 'is done after it' };
        this.#head(event.at, this.#zoneOf(name), name);
        this.#line(
          event.at,
          this.#zoneOf(name),
          `${words[what]}: the promotion of an earlier time is still running`,
        );
        return;
      }
      case 'goes_on':
        this.#printGoingOn(event);
        return;
    }
  }

  #printGoingOn({ what, name, at, progress }: Extract<RehearsalEvent, { kind: 'goes_on' }>): void {
    const isPromotion = what === 'promotion';
    const zone = isPromotion ? this.#zoneOf(name) : this.#zoneOfTarget(name);
    const instant = new Date(at).toISOString();
    if (isPromotion) {
      this.#output.event({
        event: 'rehearsed_promotion',
        name,
        at: instant,
        state: 'goes_on',
        result: null,
        progress,
      });
    } else {
      this.#output.event({
        event: 'rehearsed_release',
        target: name,
        at: instant,
        result: null,
        reason: null,
        progress,
      });
    }
    this.#head(at, zone, isPromotion ? name : `release on ${name}`);
    for (const step of progress?.steps ?? []) {
      if (step.endedAt !== undefined && isWorthTelling(step)) this.#step(step, zone);
    }
    const waits = progress?.waiting?.note ?? progress?.phase ?? 'waits for its turn';
    this.#output.print(`  ${this.#output.style.warn(`${MARKS.running} still running: ${waits}`)}`);
  }

  #printResult(result: PromotionResult | ReleaseResult, steps: readonly StepRecord[], zone: string): void {
    const { style } = this.#output;
    const lines = [
      // A command is printed before its effect.
      ...result.interventions.map((said) => ({ at: Date.parse(said.at), said })),
      ...steps.filter(isWorthTelling).map((step) => ({ at: Date.parse(step.startedAt), step })),
    ].sort((one, other) => one.at - other.at);
    for (const line of lines) {
      if ('step' in line) {
        this.#step(line.step, zone);
        continue;
      }
      const { by, kind, taken, note } = line.said;
      this.#line(line.at, zone, `${by.who}: ${kind}, ${taken ? note : `rejected: ${note}`}`);
    }
    const good = outcomeExitCode('release', result.outcome) === 0;
    const mark = good ? style.good(MARKS.done) : style.bad(MARKS.failed);
    const isIdle = 'nothingToDo' in result && result.nothingToDo;
    const words = isIdle ? 'nothing to do' : OUTCOME_WORDS[result.outcome];
    this.#line(Date.parse(result.endedAt), zone, `${mark} ${words}: ${result.reason}`);
  }

  #step(step: StepRecord, zone: string): void {
    const { style, columns } = this.#output;
    // A log keeps the whole line; a terminal would wrap it in the middle of an id.
    const line = stepLine(step, [], 0, style, columns() - CLOCK_WIDTH);
    this.#line(Date.parse(step.startedAt), zone, line.trimStart());
  }

  #head(at: number, zone: string, what: string): void {
    this.#output.print(`${formatInstant(at, zone)}  ${this.#output.style.strong(what)}`);
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
function isWorthTelling({ step, status }: StepRecord): boolean {
  return status !== 'done' || (step !== 'candidate' && step !== 'record');
}

const CLOCK_WIDTH = '2026-11-21 16:00'.length + 4;
