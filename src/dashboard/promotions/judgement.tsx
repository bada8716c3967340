import { type MetricComparison, METRICS } from '../../domain/judge/metric.ts';
import type { JudgeReport, MetricReport, Side, Trial } from '../../domain/judge/report.ts';
import { changeText } from '../../domain/judge/verdict.ts';
import { Chip, Facts, Moment, ScrollTable, type Tone } from '../page/marks.tsx';

export interface JudgementShown {
  readonly report: JudgeReport;
  /** The runs that count; none if the store does not have them. */
  readonly trials: readonly Trial[];
}

const TONES: Readonly<Record<string, Tone>> = {
  passed: 'good',
  failed: 'warn',
  inconclusive: 'warn',
  errored: 'warn',
};
/** A table with more runs is useless. */
const RUNS_SHOWN = 1_000;

export function JudgeDetails({ report, trials }: JudgementShown) {
  const { verdict, reasons, error, inputs, policy, sides, metrics, endedAt } = report;
  return (
    <section class="judge">
      <header class="title">
        <h2>Judge</h2>
        <Chip tone={TONES[verdict] ?? 'quiet'}>{verdict}</Chip>
        <span class="quiet">
          <Moment at={endedAt} />
        </span>
      </header>
      <ul class="lines">
        {reasons.map((reason) => (
          <li>{reason}</li>
        ))}
        {error && <li>{`${error.side ?? 'the judge'}: ${error.message}`}</li>}
      </ul>
      <p class="quiet">
        {`${sides.baseline.runs} runs of the baseline and ${sides.candidate.runs} of the candidate: ${inputs.count} inputs of ${inputs.from}, ${inputs.repetitions} each. Every interval holds with ${Number((policy.confidence * 100).toPrecision(4))} % confidence.`}
      </p>
      {metrics.map((metric) => (
        <Metric metric={metric} trials={trials} />
      ))}
      {trials.length > 0 && <Runs trials={trials} />}
    </section>
  );
}

function Metric({ metric, trials }: { readonly metric: MetricReport; readonly trials: readonly Trial[] }) {
  const { comparison, smallestEffect, verdict, reason } = metric;
  const { metric: name, change, pWorse } = comparison;
  const points = comparison.kind === 'rate' ? null : pointsOf(comparison, trials);
  const unit = METRICS[name].unit;
  return (
    <article class="metric">
      <header class="title">
        <h3>{name}</h3>
        {verdict === null ? (
          <span class="quiet small">reported only</span>
        ) : (
          <Chip tone={TONES[verdict] ?? 'quiet'}>{verdict}</Chip>
        )}
      </header>
      <p>{reason}</p>
      <Facts
        facts={{
          Change:
            change === null
              ? 'not known'
              : `${signed(name, change.estimate)}, between ${bound(name, change.lower)} and ${bound(name, change.upper)}`,
          'Matters from': smallestEffect === null ? 'decides nothing' : changeText(name, smallestEffect),
          'p (worse)': pWorse === null ? null : pWorse < 0.001 ? '< 0.001' : pWorse.toFixed(3),
        }}
      />
      {points && (
        <figure
          class="chart"
          data-chart={JSON.stringify(points)}
          data-unit={unit ?? ''}
          data-title={name}
          aria-hidden="true"
        ></figure>
      )}
      <Numbers comparison={comparison} />
    </article>
  );
}

function Numbers({ comparison }: { readonly comparison: MetricComparison }) {
  const { unit } = METRICS[comparison.metric];
  const rows: readonly (readonly [name: string, of: (side: Side) => string])[] =
    comparison.kind === 'rate'
      ? [
          ['runs', (side) => String(comparison[side].runs)],
          ['held', (side) => `${comparison[side].held} (${share(comparison[side])})`],
        ]
      : [
          ['runs', (side) => String(comparison[side]?.runs ?? 0)],
          ['mean', (side) => number(comparison[side]?.mean, unit)],
          ...(
            [
              ['5th percentile', 1],
              ['median', 10],
              ['95th percentile', 19],
            ] as const
          ).map(
            ([name, index]) =>
              [name, (side: Side) => number(comparison[side]?.quantiles[index], unit)] as const,
          ),
        ];
  return (
    <ScrollTable
      label={`Numbers of ${comparison.metric}`}
      headings={[comparison.metric, 'baseline', 'candidate']}
    >
      {rows.map(([name, of]) => (
        <tr>
          <th scope="row">{name}</th>
          <td>{of('baseline')}</td>
          <td>{of('candidate')}</td>
        </tr>
      ))}
    </ScrollTable>
  );
}

function Runs({ trials }: { readonly trials: readonly Trial[] }) {
  const shown = [...trials].sort((one, other) => one.place - other.place).slice(0, RUNS_SHOWN);
  return (
    <details id="runs">
      <summary>{`The runs behind the points (${trials.length})`}</summary>
      <ScrollTable
        label="Runs"
        headings={['Run', 'Side', 'Ended', 'Expectation', 'Latency', 'First token', 'Score']}
      >
        {shown.map(({ place, side, status, held, reason, latencyMs, firstTokenMs, score }) => (
          <tr>
            <th scope="row">{place}</th>
            <td>{side}</td>
            <td>{status}</td>
            <td class="why">{held ? 'met' : (reason ?? 'not met')}</td>
            <td class="number">{number(latencyMs, 'ms')}</td>
            <td class="number">{number(firstTokenMs ?? undefined, 'ms')}</td>
            <td class="number">{number(score ?? undefined, null)}</td>
          </tr>
        ))}
      </ScrollTable>
      {trials.length > RUNS_SHOWN && <p class="quiet">{`The first ${RUNS_SHOWN}.`}</p>}
    </details>
  );
}

const FIELDS = {
  latency: 'latencyMs',
  firstToken: 'firstTokenMs',
  outputSize: 'outputSize',
  outputTokens: 'outputTokens',
  score: 'score',
} as const;

/** Both sides as cumulative shares: for each value, the share of runs with this value or less. */
type Points = Readonly<Record<Side, readonly (readonly [value: number, share: number])[]>>;

/** One point for each run if the store has the runs, else one for each twentieth of them. */
function pointsOf(
  comparison: Extract<MetricComparison, { readonly kind: 'distribution' }>,
  trials: readonly Trial[],
): Points | null {
  const field = FIELDS[comparison.metric as keyof typeof FIELDS];
  const of = (side: Side): Points[Side] => {
    const values = trials
      .flatMap((trial) => (trial.side === side ? (trial[field] ?? []) : []))
      .sort((one, other) => one - other);
    if (values.length > 0) return values.map((value, index) => [value, (index + 1) / values.length]);
    return (comparison[side]?.quantiles ?? []).map((value, index) => [value, index / 20]);
  };
  const points = { baseline: of('baseline'), candidate: of('candidate') };
  return points.baseline.length + points.candidate.length === 0 ? null : points;
}

function signed(metric: MetricComparison['metric'], change: number): string {
  return `${change > 0 ? '+' : ''}${changeText(metric, change)}`;
}

function bound(metric: MetricComparison['metric'], value: number | null): string {
  return value === null ? 'an open end' : signed(metric, value);
}

function number(value: number | undefined, unit: string | null): string {
  if (value === undefined) return '–';
  const text = value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
  return unit === 'ms' ? `${text} ms` : text;
}

function share({ held, runs }: { readonly held: number; readonly runs: number }): string {
  return runs === 0 ? '–' : `${((held / runs) * 100).toFixed(1)} %`;
}
