import { releaseAddress } from '../../domain/dashboard/addresses.ts';
import { formatDuration } from '../../domain/duration.ts';
import type { AllowedChange, GuardMetric } from '../../domain/guard/guardPolicy.ts';
import { endText } from '../../domain/guard/guarding.ts';
import type { Measurement } from '../../domain/guard/measurement.ts';
import { figure } from '../../domain/scalars.ts';
import type { TargetSnapshot } from '../live/targetWatch.ts';
import { Moment, ScrollTable, Until } from '../page/marks.tsx';

/** The guard of what a target released last: its metrics with their limits and last values, and how it ended. */
export function Guard({ snapshot: { view, guard, workflowId } }: { readonly snapshot: TargetSnapshot }) {
  const guarding = view?.state.guard;
  if (guarding === undefined) return null;
  const { releaseId, until } = guarding;
  const { policy, measured = null, says, report } = guard?.workflowId === guarding.workflowId ? guard : {};
  const ended = guarding.ended ?? report ?? undefined;
  const release = <a href={releaseAddress(workflowId, releaseId)}>{releaseId}</a>;
  return (
    <section>
      <h2>Guard</h2>
      {ended === undefined ? (
        <p>
          {release} is guarded: <Until at={until} />.
        </p>
      ) : (
        <p class={ended.verdict === 'worse' || ended.verdict === 'unknown' ? 'condition' : undefined}>
          {release}
          {`: ${endText(ended)}. `}
          <Moment at={ended.at} />
        </p>
      )}
      {policy && (
        <ScrollTable label="Metrics of the guard" headings={['Metric', 'Last value', 'Limits']}>
          {policy.metrics.map((metric) => (
            <Metric metric={metric} found={measured?.values.find((value) => value.metric === metric.name)} />
          ))}
        </ScrollTable>
      )}
      {policy && ended === undefined && (
        <p class="quiet small">
          {measured === null ? (
            (says ?? 'Nothing was measured yet')
          ) : (
            <>
              Measured <Moment at={measured.at} />
            </>
          )}
          {`, and every ${formatDuration(policy.everyMs)}. Missing data `}
          {policy.noData === 'rollback' ? 'rolls back.' : 'changes nothing.'}
        </p>
      )}
    </section>
  );
}

function Metric({
  metric,
  found,
}: {
  readonly metric: GuardMetric;
  /** Absent: it was not measured yet. */
  readonly found: Measurement | undefined;
}) {
  const value = found === undefined ? '–' : found.value === null ? 'no data' : figure(found.value);
  return (
    <tr>
      <th scope="row">{metric.name}</th>
      <td>
        {value}
        {found?.missing && <span class="quiet">{`: ${found.missing}`}</span>}
        {found?.before != null && (
          <span class="quiet">{` (${figure(found.before)} in the hour before)`}</span>
        )}
      </td>
      <td class="why">{limitTexts(metric).join(', ')}</td>
    </tr>
  );
}

/** `at most 0.05`, `may rise by 50 %` */
function limitTexts({ max, min, risesBy, fallsBy }: GuardMetric): readonly string[] {
  return [
    ...(max === undefined ? [] : [`at most ${max}`]),
    ...(min === undefined ? [] : [`at least ${min}`]),
    ...(risesBy === undefined ? [] : [`may rise by ${changeText(risesBy)}`]),
    ...(fallsBy === undefined ? [] : [`may fall by ${changeText(fallsBy)}`]),
  ];
}

function changeText({ by, isRelative }: AllowedChange): string {
  return isRelative ? `${figure(by * 100)} %` : String(by);
}
