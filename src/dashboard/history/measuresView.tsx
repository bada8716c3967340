import {
  type Day,
  DEFINITIONS,
  type DeliveryMeasures,
  type Durations,
  type Measured,
} from '../../domain/delivery/measures.ts';
import { DAY_MS, formatDuration } from '../../domain/duration.ts';
import { ScrollTable } from '../page/marks.tsx';
import { dayOf } from './historyFilter.ts';

const NAMES: Readonly<Record<keyof DeliveryMeasures, string>> = {
  deploymentFrequency: 'Deployment frequency',
  leadTime: 'Lead time from commit',
  changeFailureRate: 'Change failure rate',
  timeToRestore: 'Time to restore',
};

export function MeasuresView({
  measures,
  days,
}: {
  readonly measures: DeliveryMeasures;
  readonly days: readonly Day[];
}) {
  return (
    <section aria-labelledby="measures" class="measures">
      <h2 id="measures">Delivery measures</h2>
      <dl class="measure-list">
        {measureTexts(measures).map(({ name, figure, detail, definition }) => (
          <div class="measure">
            <dt>{name}</dt>
            <dd class="figure">{figure}</dd>
            <dd>{detail}</dd>
            <dd class="quiet">{definition}</dd>
          </div>
        ))}
      </dl>
      <Days days={days} />
    </section>
  );
}

interface MeasureText {
  readonly name: string;
  readonly figure: string;
  readonly detail: string;
  readonly definition: string;
}

export function measureTexts(measures: DeliveryMeasures): readonly MeasureText[] {
  const { deploymentFrequency, leadTime, changeFailureRate, timeToRestore } = measures;
  return [
    text('deploymentFrequency', deploymentFrequency, ({ perDay, count }) => [
      perDay >= 1 ? `${perDay.toFixed(1)} per day` : `${(perDay * 7).toFixed(1)} per week`,
      `${counted(count, 'release')}.`,
    ]),
    text('leadTime', leadTime, (figure) => [
      longDuration(figure.medianMs),
      `${ofTimes(figure, 'release')}${figure.unknown === 0 ? '' : ` Of ${counted(figure.unknown, 'release')} more the commit’s time is not known.`}`,
    ]),
    text('changeFailureRate', changeFailureRate, ({ rate, failed, count }) => [
      `${(100 * rate).toFixed(rate > 0 && rate < 0.1 ? 1 : 0)} %`,
      `${failed} of ${counted(count, 'release')}.`,
    ]),
    text('timeToRestore', timeToRestore, (figure) => [
      longDuration(figure.medianMs),
      ofTimes(figure, 'restore'),
    ]),
  ];
}

function text<M extends DeliveryMeasures[keyof DeliveryMeasures]>(
  key: keyof DeliveryMeasures,
  measure: M,
  say: (measured: Extract<M, { readonly state: 'measured' }>) => readonly [string, string],
): MeasureText {
  const [figure, detail] =
    measure.state === 'measured'
      ? say(measure as Extract<M, { readonly state: 'measured' }>)
      : (['Not enough data', measure.why] as const);
  return { name: NAMES[key], figure, detail, definition: DEFINITIONS[key] };
}

function ofTimes({ count, p90Ms }: Measured<Durations>, what: string): string {
  const slowest = count === 1 ? '' : ` Nine of ten within ${longDuration(p90Ms)}.`;
  return `${counted(count, what)}.${slowest}`;
}

/** As {@link formatDuration}, but in days from two days on. */
function longDuration(ms: number): string {
  return ms < 2 * DAY_MS ? formatDuration(ms) : `${(ms / DAY_MS).toFixed(1)} days`;
}

function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

/** The drawing's units: one bar for each day or group of days. */
const WIDTH = 720;
const HEIGHT = 96;
const BARS_MAX = 90;

function Days({ days }: { readonly days: readonly Day[] }) {
  if (days.every(({ released, failed }) => released + failed === 0)) return null;
  const bars = together(days);
  const most = Math.max(...bars.map(({ released, failed }) => Math.max(released, failed)));
  const step = WIDTH / bars.length;
  const bar = (kind: string, count: number, x: number, width: number) => {
    const height = (count / most) * (HEIGHT - 4);
    return <rect class={kind} x={x} y={HEIGHT - height} width={width} height={height} />;
  };
  return (
    <figure class="days">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label="Released and failed releases over time"
        preserveAspectRatio="none"
      >
        {bars.map(({ released, failed }, index) => (
          <g>
            {bar('released', released, (index + 0.1) * step, step * 0.5)}
            {bar('failed', failed, (index + 0.6) * step, step * 0.3)}
          </g>
        ))}
      </svg>
      <figcaption>
        From {dayOf(days[0]?.at ?? 0)} to {dayOf(days.at(-1)?.at ?? 0)}: the wide bars are releases that ended
        “released”, the narrow ones releases that failed. The highest bar is {most}.
      </figcaption>
      <details>
        <summary>The same as a table</summary>
        <ScrollTable label="Releases over time" headings={['From (UTC)', 'Released', 'Failed']}>
          {bars
            .filter(({ released, failed }) => released + failed > 0)
            .map(({ at, released, failed }) => (
              <tr>
                <th scope="row">{dayOf(at)}</th>
                <td>{released}</td>
                <td>{failed}</td>
              </tr>
            ))}
        </ScrollTable>
      </details>
    </figure>
  );
}

/** Days, grouped so that at most {@link BARS_MAX} bars are drawn. */
function together(days: readonly Day[]): readonly Day[] {
  const size = Math.ceil(days.length / BARS_MAX);
  return Array.from({ length: Math.ceil(days.length / size) }, (_, index) => {
    const part = days.slice(index * size, (index + 1) * size);
    return {
      at: part[0]?.at ?? 0,
      released: part.reduce((sum, { released }) => sum + released, 0),
      failed: part.reduce((sum, { failed }) => sum + failed, 0),
    };
  });
}
