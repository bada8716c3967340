import type { GuardMetric, GuardPolicy, MetricSource } from '../domain/guard/guardPolicy.ts';
import { normalizeServiceUrl } from '../domain/target/targetSpec.ts';
import type { Config, TargetConfig } from './configSchema.ts';
import type { MetricConfig } from './guardSchema.ts';

/** The guard of a target, with its metrics; `undefined`: it has none. */
export function guardSettings(
  { metrics }: Config,
  name: string,
  target: TargetConfig,
): GuardPolicy | undefined {
  const { guard } = target;
  if (guard === undefined) return undefined;
  const { for: forMs, every: everyMs, after: afterMs = everyMs, metrics: wanted, noData, hold } = guard;
  const chosen = wanted ?? Object.keys(metrics);
  return {
    forMs,
    everyMs,
    afterMs,
    noData,
    hold: hold === false ? hold : undefined,
    metrics: chosen.flatMap((metric) => metricOf(metric, metrics[metric], name, target)),
  };
}

function metricOf(
  name: string,
  metric: MetricConfig | undefined,
  target: string,
  settings: TargetConfig,
): readonly GuardMetric[] {
  const source = metric && sourceOf(metric, target, settings);
  if (metric === undefined || source === undefined) return [];
  const { prometheus: _, http: _1, feedback: _2, ...limits } = metric;
  return [{ name, source, ...limits }];
}

function sourceOf(
  { prometheus, http, feedback }: MetricConfig,
  target: string,
  { deployment = '', controlPlane, apiKey, tenantId }: TargetConfig,
): MetricSource | undefined {
  const named = (text: string, written: (name: string) => string): string =>
    text.replaceAll('{deployment}', () => written(deployment)).replaceAll('{target}', () => written(target));
  if (prometheus !== undefined) {
    const { url, query, ...rest } = prometheus;
    return { kind: 'prometheus', ...rest, url: normalizeServiceUrl(url), query: named(query, inQuotes) };
  }
  if (http !== undefined) return { kind: 'http', ...http, url: named(http.url, encodeURIComponent) };
  if (feedback === undefined) return undefined;
  const { key, atLeast, project = deployment, url = controlPlane } = feedback;
  return {
    kind: 'feedback',
    key,
    atLeast,
    project,
    url: normalizeServiceUrl(url),
    ...(feedback.apiKey === undefined ? { apiKey, tenantId } : { apiKey: feedback.apiKey }),
  };
}

/** A name as a part of a text in double quotes in PromQL. */
function inQuotes(name: string): string {
  return name.replaceAll('\\', '\\\\').replaceAll('"', '\\"');
}
