import { formatDuration } from '../../domain/duration.ts';
import type { Progress, StepRecord } from '../../domain/release.ts';
import { stepElapsedMs } from '../../domain/story.ts';
import type { FollowEvent } from '../../temporal/follow.ts';
import type { Output } from '../output.ts';
import { styleOf } from '../style.ts';
import { LiveLine } from './liveLine.ts';
import { settledSteps, stepLine } from './progressLines.ts';
import { aheadLines, waitingText } from './waitingLines.ts';

/**
 * Shows what `follow` tells: each step on a line of its own once it has ended, and the one that runs on a last line
 * that is rewritten in place. With `--json` each change is an event.
 */
export class FollowView {
  readonly #output: Output;
  readonly #live: LiveLine;
  #shownSteps = 0;
  #toldRunning = -1;
  #shownVerdicts = 0;
  #tellsRestoring = false;
  #toldWaiting: string | null = null;
  readonly #addressed: string;
  readonly #toldAhead = new Set<string>();

  /** @param addressed - how a command names what is followed: `production`, `--promotion up`. */
  constructor(output: Output, addressed: string) {
    this.#output = output;
    this.#addressed = addressed;
    this.#live = new LiveLine(output);
  }

  /** Shows one event. How it ended is shown by whoever follows. */
  show(event: FollowEvent): void {
    const { style } = this.#output;
    switch (event.kind) {
      case 'queued':
        this.#output.event({ event: 'queued', reason: event.reason });
        this.#wait(() => `  … waiting: ${event.reason}`);
        return;
      case 'started':
        this.#begin();
        this.#output.event({
          event: 'started',
          releaseId: event.releaseId,
          workflowId: event.workflowId,
        });
        return;
      case 'progress':
        this.#showProgress(event.progress);
        return;
      case 'silent':
        this.#output.event({
          event: 'silent',
          who: event.who,
          since: new Date(event.since).toISOString(),
        });
        this.#wait(() => `  … ${silence(event, Date.now())}`);
        return;
      case 'answering':
        this.#output.event({ event: 'answering' });
        this.#live.hide();
        this.#live.say(style.faint('  answering again'));
        return;
      case 'ended':
      case 'gave_up':
        this.#live.hide();
        return;
    }
  }

  /** Takes away what is rewritten in place. */
  close(): void {
    this.#live.hide();
  }

  /** Shows that nothing happens, and why: at once also where lines cannot be rewritten. */
  #wait(render: () => string): void {
    if (!this.#output.live) this.#output.tell(render());
    this.#live.show(render);
  }

  #begin(): void {
    this.#live.hide();
    this.#shownSteps = 0;
    this.#toldRunning = -1;
    this.#shownVerdicts = 0;
    this.#tellsRestoring = false;
  }

  #showProgress(progress: Progress): void {
    this.#live.hide();
    const { style } = this.#output;
    const settled = settledSteps(progress);
    for (; this.#shownSteps < settled; this.#shownSteps++) {
      const step = progress.steps[this.#shownSteps];
      if (step === undefined) break;
      this.#showVerdicts(progress, step);
      this.#announceRestoring(progress, step);
      this.#tellStep(step);
      // A log keeps the whole line; a terminal would break it in the middle of an id.
      const columns = this.#output.live ? this.#output.columns() : Infinity;
      this.#live.say(stepLine(step, progress.verdicts, Date.now(), style, columns));
    }
    this.#showAhead(progress);
    this.#showWaiting(progress);
    const running = progress.steps[settled];
    if (running === undefined) return;
    this.#announceRestoring(progress, running);
    if (this.#toldRunning < settled) this.#tellStep(running);
    this.#toldRunning = settled;
    // The line is measured and cut, which must not count what only colors it.
    this.#live.show(() => stepLine(running, progress.verdicts, Date.now(), styleOf(false)));
  }

  /** What it waits for a person to say; and, once, that it waits no longer. */
  #showWaiting({ waiting }: Progress): void {
    if (waiting === null) {
      this.#toldWaiting = null;
      return;
    }
    if (this.#toldWaiting !== waiting.since) {
      this.#toldWaiting = waiting.since;
      this.#output.event({ event: 'waiting', ...waiting });
      this.#live.say(this.#output.style.warn(`  ${waitingText(waiting, this.#addressed, Date.now())}`));
    }
    const until = Date.parse(waiting.until);
    this.#live.show(() => `  … for ${formatDuration(Math.max(until - Date.now(), 0))} still`);
  }

  /** What a person asked for and is not reached, once: a pause, a skipped check. */
  #showAhead(progress: Progress): void {
    for (const line of aheadLines(progress, this.#addressed)) {
      if (this.#toldAhead.has(line)) continue;
      this.#toldAhead.add(line);
      this.#live.say(this.#output.style.warn(`  ${line}`));
    }
  }

  #announceRestoring(progress: Progress, step: StepRecord): void {
    if (!step.restoring || step.step === 'record' || this.#tellsRestoring) return;
    this.#tellsRestoring = true;
    if (progress.kind === 'release') {
      this.#live.say(this.#output.style.warn('  putting a good revision back'));
    }
  }

  #showVerdicts(progress: Progress, step: StepRecord): void {
    if (step.step !== 'check' && step.step !== 'soak' && step.step !== 'baseline') return;
    const verdict = progress.verdicts[this.#shownVerdicts];
    if (verdict === undefined || verdict.check !== step.subject) return;
    this.#shownVerdicts += 1;
    this.#output.event({ event: 'check', ...verdict });
  }

  #tellStep(step: StepRecord): void {
    const elapsedMs = step.endedAt === undefined ? {} : { elapsedMs: stepElapsedMs(step, 0) };
    this.#output.event({ event: 'step', ...step, ...elapsedMs });
  }
}

function silence(event: FollowEvent & { kind: 'silent' }, now: number): string {
  const who = event.who === 'worker' ? 'the worker' : 'Temporal';
  return `${who} has not answered for ${formatDuration(now - event.since)}; still trying (the release goes on)`;
}
