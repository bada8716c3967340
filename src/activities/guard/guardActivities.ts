import { Context } from '@temporalio/activity';
import type { Agent } from 'undici';

import { meanOfScores } from '../../clients/metrics/feedbackScores.ts';
import { askHttpMetric, type MetricValue } from '../../clients/metrics/metricAnswer.ts';
import { meanOfPrometheus, queryPrometheus } from '../../clients/metrics/prometheus.ts';
import { isDeploymentGone } from '../../clients/serviceError.ts';
import { secretFor } from '../../config/secretOrigins.ts';
import { cutText } from '../../domain/bounds.ts';
import { onSlipwayError, SlipwayError } from '../../domain/errors.ts';
import {
  type GuardedInput,
  type GuardMetric,
  HOUR_BEFORE_MS,
  isCompared,
  type MetricSource,
} from '../../domain/guard/guardPolicy.ts';
import {
  breachText,
  EMPTY_TALLY,
  judgeRound,
  type Measured,
  measuredText,
  type Measurement,
  type Tally,
} from '../../domain/guard/measurement.ts';
import { isRecord } from '../../domain/scalars.ts';
import type { SecretReference } from '../../domain/target/targetSpec.ts';
import type { Activities } from '../activities.ts';
import { notYet } from '../activityFailure.ts';
import { callOptions, SHORT_CALL_MS } from '../callOptions.ts';
import type { Outside } from '../connections.ts';
import { revisionSnapshot } from '../deployment/snapshots.ts';
import { knownBefore, noteProgress, reportProgress } from '../heartbeat.ts';
import { scrubTexts } from '../scrub.ts';
import { temporalTime } from '../temporalTime.ts';
import type { Untracked } from '../track.ts';

/** The limit for one metric, in milliseconds, because scores come in pages. */
const METRIC_MS = 20_000;

/** What guards call, beside the control plane. */
export interface GuardOutside extends Pick<Outside, 'controlPlane'> {
  metrics(): Agent;
}

export function guardActivities(outside: GuardOutside): Untracked<Pick<Activities, 'guardRevision'>> {
  return {
    /**
     * Each attempt is one round, and ends as "not yet". Temporal retries it when the next round is due, so that no slot
     * is held in between and no event is added. What a worker that died had found is in the heartbeat of the round.
     */
    guardRevision: async (input) => {
      const { policy, since, until } = input;
      const now = temporalTime(until);
      const firstMs = Math.min(since + policy.afterMs, until) - now;
      if (firstMs > 0) throw notYet('SLIPWAY_STEP_TIMED_OUT', 'the first measurement is not due', firstMs);
      const known = readKnown(knownBefore());
      // The heartbeats of this attempt carry it on, so that a worker that dies now loses nothing.
      if (known.says !== '') noteProgress(known.says, known);
      const replacedBy = await whatReplaced(outside, input);
      if (replacedBy !== undefined)
        return { verdict: 'replaced', note: `${replacedBy} serves instead of revision ${input.revisionId}` };

      // A round that is late, because no worker ran, judges the last moment of the guard.
      const at = Math.min(now, until);
      const before = await hoursBefore(outside, input, known.before);
      const measured = await Promise.all(
        policy.metrics.map((metric) => measure(outside, metric, { since, at, before: before[metric.name] })),
      );
      const isLast = now >= until;
      const { breach, tally } = judgeRound(policy, measured, known.tally, isLast);
      const found = measuredText(measured);
      if (breach !== null)
        return { verdict: 'worse', note: `${breachText(breach)}; measured: ${found}`, breach };
      if (isLast) return { verdict: 'passed', note: `measured last: ${found}` };
      const shown = { at: new Date(now).toISOString(), values: shortened(measured) };
      reportProgress(found, { says: found, before, tally, measured: shown } satisfies Known);
      throw notYet('SLIPWAY_STEP_TIMED_OUT', found, Math.min(policy.everyMs, until - now));
    },
  };
}

/** What the rounds pass on. */
interface Known {
  readonly says: string;
  /** The mean of the hour before by metric; `null` if that hour has no data. Absent: not known yet. */
  readonly before: Readonly<Record<string, number | null>>;
  readonly tally: Tally;
  /** For people. Absent: nothing was measured. */
  readonly measured?: Measured;
}

/** The longest reason for missing data, as JSON. */
const MISSING_MAX_BYTES = 200;

/** Measurements without secrets, and with short reasons. */
function shortened(measured: readonly Measurement[]): readonly Measurement[] {
  return scrubTexts(measured).map((measurement) => {
    const { missing } = measurement;
    return missing === undefined
      ? measurement
      : { ...measurement, missing: cutText(missing, MISSING_MAX_BYTES) };
  });
}

function readKnown(raw: unknown): Known {
  if (!isRecord(raw) || !isRecord(raw['before']) || !isRecord(raw['tally']))
    return { says: '', before: {}, tally: EMPTY_TALLY };
  return raw as unknown as Known;
}

/** What serves instead; `undefined` if the guarded revision or its copy does, or the control plane does not say. */
async function whatReplaced(
  outside: GuardOutside,
  { target, deploymentId, revisionId }: GuardedInput,
): Promise<string | undefined> {
  const controlPlane = outside.controlPlane(target);
  // Both revisions carry one upload, whose path is unique, if another tool has redeployed the guarded one.
  const uploadOf = async (id: string): Promise<string | null> => {
    const revision = await controlPlane.getRevision(deploymentId, id, callOptions()).catch(unlessGone);
    return revision && revisionSnapshot(revision).tarballPath;
  };
  try {
    const { active_revision_id: active } = await controlPlane.getDeployment(deploymentId, callOptions());
    if (active === revisionId) return undefined;
    if (active === null) return 'no revision';
    const [guarded, serving] = await Promise.all([uploadOf(revisionId), uploadOf(active)]);
    return serving !== null && serving === guarded ? undefined : `revision ${active}`;
  } catch (error) {
    if (isDeploymentGone(error, deploymentId)) return 'no deployment';
    if (error instanceof SlipwayError && !Context.current().cancellationSignal.aborted) return undefined;
    throw error;
  }
}

const unlessGone = onSlipwayError(() => null, 'SLIPWAY_NOT_FOUND');

/** The means of the hour before the release. A service that does not answer is asked again in the next round. */
async function hoursBefore(
  outside: GuardOutside,
  { policy, releasedFrom }: GuardedInput,
  known: Known['before'],
): Promise<Known['before']> {
  const missing = policy.metrics.filter((metric) => isCompared(metric) && !Object.hasOwn(known, metric.name));
  const asked = await Promise.all(
    missing.map(async ({ name, source }) => {
      const found = await valueOf(outside, source, releasedFrom - HOUR_BEFORE_MS, releasedFrom, true);
      return 'failed' in found ? [] : [[name, found.value] as const];
    }),
  );
  return { ...known, ...Object.fromEntries(asked.flat()) };
}

async function measure(
  outside: GuardOutside,
  { name: metric, source }: GuardMetric,
  {
    since,
    at,
    before = null,
  }: { readonly since: number; readonly at: number; readonly before?: number | null | undefined },
): Promise<Measurement> {
  const found = await valueOf(outside, source, since, at, false);
  if ('failed' in found) return { metric, value: null, before, missing: found.failed };
  if (found.value !== null) return { metric, value: found.value, before };
  const { missing, isEarly } = found;
  return { metric, value: null, before, missing, isEarly };
}

/** A metric's value, or why the service did not give it. That is no data, and never an error of the guard. */
async function valueOf(
  outside: GuardOutside,
  source: MetricSource,
  from: number,
  until: number,
  isMean: boolean,
): Promise<MetricValue | { readonly failed: string }> {
  const call = callOptions(SHORT_CALL_MS);
  const options = { ...call, signal: AbortSignal.any([call.signal, AbortSignal.timeout(METRIC_MS)]) };
  const agent = outside.metrics();
  try {
    switch (source.kind) {
      case 'prometheus': {
        const query = { ...source, agent, token: tokenOf(source) };
        return await (isMean
          ? meanOfPrometheus(query, from, until, options)
          : queryPrometheus(query, until, options));
      }
      case 'http':
        return await askHttpMetric({ ...source, agent, token: tokenOf(source) }, from, until, options);
      case 'feedback': {
        const apiKey = secretFor(source.apiKey, source.url);
        return await meanOfScores({ ...source, agent, apiKey }, from, until, options);
      }
    }
  } catch (error) {
    if (!(error instanceof SlipwayError) || Context.current().cancellationSignal.aborted) throw error;
    return { failed: error.message };
  }
}

function tokenOf({
  token,
  url,
}: {
  readonly token?: SecretReference;
  readonly url: string;
}): string | undefined {
  return token === undefined ? undefined : secretFor(token, url);
}
