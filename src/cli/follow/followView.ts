import { formatDuration } from '../../domain/duration.ts';
import type { RunningCall } from '../../domain/heartbeat.ts';
import type { Progress, StepRecord } from '../../domain/release/release.ts';
import { stepElapsedMs } from '../../domain/story.ts';
import type { FollowEvent } from '../../temporal/client/release/follow.ts';
import type { Output } from '../output.ts';
import type { Asked } from '../ui/endingText.ts';
import { LiveLines, PLAIN_EVERY_MS } from '../ui/liveLines.ts';
import { settledSteps, stepLine } from '../ui/progressLines.ts';
import { fitLine, type Screen, styleOf } from '../ui/text.ts';
import { buildLine, underWayLines } from '../ui/underWayLines.ts';

/** Shows the events of `follow`: a line for each ended step, and the running one rewritten below. `--json`: events. */
export class FollowView {
  readonly #output: Output;
  readonly #live: LiveLines;
  #shownSteps = 0;
  #printedRunning = -1;
  #shownVerdicts = 0;
  #saysRestoring = false;
  #printedWaiting: string | null = null;
  #printedUnderWay = '';
  readonly #addressed: string;
  readonly #what: string;
  /** The waiting lines printed so far, if lines cannot be rewritten: each is printed once. */
  readonly #printedLines = new Set<string>();
  #progress: Progress | null = null;
  #call: RunningCall | null = null;
  #buildLog: readonly string[] = [];

  /**
   * @param addressed - what is followed, as command arguments: `production`, `--promotion up`.
   * @param what - what is followed, in sentences.
   */
  constructor(output: Output, addressed: string, what: Asked | 'promotion') {
    this.#output = output;
    this.#addressed = addressed;
    this.#what = what;
    this.#live = new LiveLines(output);
  }

  show(event: FollowEvent): void {
    const { style } = this.#output;
    switch (event.kind) {
      case 'queued':
        this.#output.event({ event: 'queued', reason: event.reason });
        this.#wait(() => `  … waiting: ${event.reason}`);
        return;
      case 'started':
        this.#begin();
        this.#output.event({ event: 'started', releaseId: event.releaseId, workflowId: event.workflowId });
        return;
      case 'progress':
        this.#showProgress(event.progress, event.call);
        return;
      case 'silent':
        this.#output.event({
          event: 'silent',
          who: event.who,
          since: new Date(event.since).toISOString(),
          why: event.why,
        });
        this.#wait(() => `  … ${silence(event, this.#what, Date.now())}`);
        return;
      case 'answering':
        this.#output.event({ event: 'answering' });
        this.#live.hide();
        this.#live.say(style.faint('  answering again'));
        return;
      case 'ended':
      case 'answered':
      case 'gave_up':
        this.#live.hide();
        return;
    }
  }

  showBuildLog(lines: readonly string[]): void {
    if (lines.at(-1) === this.#buildLog.at(-1) && lines.length === this.#buildLog.length) return;
    const begins = this.#buildLog.length === 0;
    this.#buildLog = lines;
    if (this.#progress !== null) this.#printUnderWay(this.#progress);
    if (begins && !this.#output.live && this.#isLong)
      for (const line of lines) this.#live.say(buildLine(line, this.#output.screen()));
  }

  close(): void {
    this.#live.hide();
  }

  /** Shows that it waits, and why. If lines cannot be rewritten, it prints this at once. */
  #wait(render: () => string): void {
    this.#live.hide();
    if (!this.#output.live) this.#output.info(render());
    this.#live.show(() => [fitLine(render(), this.#screen.columns)]);
  }

  /** A line of the terminal's full width would wrap. */
  get #screen(): Screen {
    const screen = this.#output.screen();
    return { ...screen, columns: screen.columns - 1 };
  }

  #begin(): void {
    this.#live.hide();
    this.#shownSteps = 0;
    this.#printedRunning = -1;
    this.#shownVerdicts = 0;
    this.#saysRestoring = false;
    this.#progress = null;
  }

  #showProgress(progress: Progress, call: RunningCall | null): void {
    this.#live.hide();
    this.#progress = progress;
    this.#call = call;
    const settled = settledSteps(progress);
    for (const step of progress.steps.slice(this.#shownSteps, settled)) {
      this.#showVerdicts(progress, step);
      this.#announceRestoring(progress, step);
      this.#printStep(step);
      // A log keeps the whole line; a terminal would wrap it in the middle of an id.
      this.#live.say(stepLine(step, progress.verdicts, this.#screen));
    }
    this.#shownSteps = Math.max(this.#shownSteps, settled);
    const running = progress.steps[settled];
    if (running !== undefined) {
      this.#announceRestoring(progress, running);
      if (this.#printedRunning < settled) this.#printStep(running);
      this.#printedRunning = settled;
    }
    this.#printWaiting(progress);
    this.#printUnderWay(progress);
    const plain = () => ({ style: styleOf(false), columns: Infinity, now: Date.now() });
    const stepLines = (): readonly string[] =>
      running === undefined
        ? []
        : [fitLine(stepLine(running, progress.verdicts, plain()), this.#screen.columns)];
    if (running !== undefined || progress.waiting !== null)
      this.#live.show(() => [...stepLines(), ...this.#underWayLines(progress)]);
  }

  /** Prints one event when a release waits for a person, or for a freeze to end. */
  #printWaiting({ waiting }: Progress): void {
    if (waiting !== null && this.#printedWaiting !== waiting.since) {
      this.#output.event({ event: 'waiting', ...waiting });
    }
    this.#printedWaiting = waiting?.since ?? null;
  }

  /** Prints each change of what it waits for: an event with `--json`, and in a log a line for each new item. */
  #printUnderWay(progress: Progress): void {
    const { watchUntil, interventions } = progress;
    const underWay = { call: this.#call, buildLog: this.#buildLog, interventions, watchUntil };
    const shown = JSON.stringify(underWay);
    if (shown !== this.#printedUnderWay && shown !== NOTHING)
      this.#output.event({ event: 'under_way', ...underWay });
    this.#printedUnderWay = shown;
    if (this.#output.live) return;
    const lines = this.#linesForLog(progress, Date.now());
    // A line is new only if more than its remaining time has changed.
    for (const [index, key] of this.#linesForLog(progress, 0).entries()) {
      if (this.#printedLines.has(key)) continue;
      this.#printedLines.add(key);
      this.#live.say(lines[index] ?? key);
    }
  }

  #underWayLines(progress: Progress): readonly string[] {
    const shown = { progress, call: this.#call, buildLog: this.#buildLog, addressed: this.#addressed };
    return underWayLines(shown, this.#screen);
  }

  /** Whether a wait is long enough for a line in a log. A short wait ends with its step. */
  get #isLong(): boolean {
    return this.#call !== null && Date.now() - Date.parse(this.#call.since) >= PLAIN_EVERY_MS;
  }

  #linesForLog(progress: Progress, now: number): readonly string[] {
    const call = this.#isLong ? this.#call : null;
    const shown = { progress, call, buildLog: [], addressed: this.#addressed };
    return underWayLines(shown, { ...this.#output.screen(), now });
  }

  #announceRestoring(progress: Progress, step: StepRecord): void {
    if (!step.restoring || step.step === 'record' || this.#saysRestoring) return;
    this.#saysRestoring = true;
    if (progress.kind === 'release') {
      this.#live.say(this.#output.style.warn('  restoring a good revision'));
    }
  }

  #showVerdicts(progress: Progress, step: StepRecord): void {
    if (step.step !== 'check' && step.step !== 'soak' && step.step !== 'baseline') return;
    const verdict = progress.verdicts[this.#shownVerdicts];
    if (verdict === undefined || verdict.check !== step.subject) return;
    this.#shownVerdicts += 1;
    this.#output.event({ event: 'check', ...verdict });
  }

  #printStep(step: StepRecord): void {
    const elapsedMs = step.endedAt === undefined ? undefined : stepElapsedMs(step, 0);
    this.#output.event({ event: 'step', ...step, elapsedMs });
  }
}

/** A state that needs no event. */
const NOTHING = JSON.stringify({ call: null, buildLog: [], interventions: [] });

function silence(event: FollowEvent & { kind: 'silent' }, what: string, now: number): string {
  const who = event.who === 'worker' ? 'the worker' : 'Temporal';
  const why = event.why === undefined ? '' : `: ${event.why}`;
  return `${who} has not answered for ${formatDuration(now - event.since)}; still trying (the ${what} continues)${why}`;
}
