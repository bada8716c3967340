import { nameAndProof } from '../../domain/actor.ts';
import { formatDuration } from '../../domain/duration.ts';
import type { InterventionRecord } from '../../domain/intervention/intervention.ts';
import type { StepRecord } from '../../domain/release/release.ts';
import { splitTime, type TimedRelease, type TimeSplit } from '../../domain/release/timeSplit.ts';
import { stepElapsedMs } from '../../domain/story.ts';
import { Clock, Elapsed, Moment, momentText } from '../page/marks.tsx';
import { stepWords } from './underWay.tsx';

interface TimelineProps {
  readonly timed: TimedRelease;
  readonly now: number;
}

const PARTS: readonly (readonly [part: keyof TimeSplit, words: string])[] = [
  ['controlPlane', 'control plane'],
  ['machine', 'checks and pipeline'],
  ['soak', 'soaking'],
  ['people', 'waiting for people'],
  ['freezes', 'frozen'],
];

export function TimeBar({ timed, now }: TimelineProps) {
  const split = splitTime(timed, now);
  const whole = PARTS.reduce((sum, [part]) => sum + split[part], 0);
  const parts = PARTS.map(([part, words]) => ({ part, words, ms: split[part] })).filter(({ ms }) => ms > 0);
  let at = 0;
  return (
    <figure class="split">
      <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        {parts.map(({ part, ms }) => {
          const width = whole === 0 ? 0 : (ms / whole) * 100;
          const x = at;
          at += width;
          return <rect class={part} x={x.toFixed(3)} y="0" width={width.toFixed(3)} height="4" />;
        })}
      </svg>
      <figcaption>
        {parts.map(({ part, words, ms }) => (
          <span class={`key ${part}`}>{`${words} ${formatDuration(ms)}`}</span>
        ))}
      </figcaption>
    </figure>
  );
}

export function Timeline({ timed, now }: TimelineProps) {
  const { steps, startedAt, endedAt } = timed;
  const from = Date.parse(startedAt);
  const whole = Math.max((endedAt === undefined ? now : Date.parse(endedAt)) - from, 1);
  if (steps.length === 0) return <p class="quiet">No step has begun.</p>;
  return (
    <>
      <p class="quiet small">{`From ${momentText(startedAt)} on`}</p>
      <ol class="timeline">
        {steps.map((step, index) => (
          <>
            {step.restoring && steps[index - 1]?.restoring !== true && (
              <li class="turn">Restoring a revision</li>
            )}
            <TimelineRow step={step} from={from} whole={whole} now={now} />
          </>
        ))}
      </ol>
    </>
  );
}

interface RowProps {
  readonly step: StepRecord;
  readonly from: number;
  readonly whole: number;
  readonly now: number;
}

function TimelineRow({ step, from, whole, now }: RowProps) {
  const { status, startedAt, endedAt, attempts, detail, restoring } = step;
  const took = stepElapsedMs(step, now);
  const start = Math.min(Math.max(((Date.parse(startedAt) - from) / whole) * 100, 0), 99.2);
  const width = Math.max(Math.min((took / whole) * 100, 100 - start), 0.8);
  return (
    <li class={`step ${status}${restoring ? ' restoring' : ''}`}>
      <span class="name">
        {stepWords(step)} <span class="unseen">{status}</span>
      </span>
      <span class="quiet at">
        <Clock at={startedAt} />
      </span>
      <span class="took">
        {endedAt === undefined ? <Elapsed since={startedAt} /> : formatDuration(took)}
        {attempts !== undefined && attempts > 1 && <span class="attempts">{` ${attempts} attempts`}</span>}
      </span>
      <svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect x={start.toFixed(3)} y="0" width={width.toFixed(3)} height="4" />
      </svg>
      {detail && <span class="detail">{detail}</span>}
    </li>
  );
}

export function SaidByPeople({ interventions }: { readonly interventions: readonly InterventionRecord[] }) {
  if (interventions.length === 0) return null;
  return (
    <section>
      <h2>Commands</h2>
      <ul class="lines">
        {interventions.map(({ at, kind, what, by, note, taken }) => (
          <li>
            <Moment at={at} /> <strong>{`${kind}${what === undefined ? '' : ` ${what}`}`}</strong>
            {` by ${nameAndProof(by)}${by.reason === undefined ? '' : ` (${by.reason})`}: ${taken ? '' : 'not accepted, '}${note}`}
          </li>
        ))}
      </ul>
    </section>
  );
}
