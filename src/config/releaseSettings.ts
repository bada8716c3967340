import { pick } from '@slipway/contract/pick';

import type { GuardMetric, GuardPolicy, MetricSource } from '../domain/guard/guardPolicy.ts';
import type { ReceiverSpec } from '../domain/notify/notice.ts';
import type { ReleaseRequest } from '../domain/release/release.ts';
import { releaseRequestProblem } from '../domain/release/requestProblem.ts';
import { normalizeServiceUrl, type TargetSpec } from '../domain/target/targetSpec.ts';
import { chooseEntry } from './chooseEntry.ts';
import type { Config, TargetConfig } from './configSchema.ts';
import { beforeReading, type DeclaredCheck } from './datasetSchema.ts';
import { present } from './fields.ts';
import type { MetricConfig } from './guardSchema.ts';
import type { ReceiverConfig } from './notifySchema.ts';
import { isPreview } from './previewSettings.ts';

/** A target of the file, with the settings of a release. The deployment's name is absent if the file has only its id. */
export interface ReleaseSettings extends Pick<
  ReleaseRequest,
  | 'checksBudget'
  | 'steps'
  | 'soakMs'
  | 'pauseMs'
  | 'queue'
  | 'graphConfigPath'
  | 'onError'
  | 'approval'
  | 'freezes'
  | 'guard'
  | 'notify'
> {
  /** Their datasets are not read yet. */
  readonly checks: readonly DeclaredCheck[];
  readonly target: Omit<TargetSpec, 'deployment'> & { readonly deployment?: string };
}

export function releaseSettings(config: Config, name: string): ReleaseSettings {
  const [, target] = chooseEntry(config, 'targets', name);
  const receivers = notifySettings(config.notify, name);
  const { source, controlPlane, agentUrl, vocabulary } = target;
  const buildable = source === 'internal_source' || source === 'repo_host';
  return {
    target: {
      name,
      ...pick(target, 'apiKey', 'source', 'controlPlaneId', 'tenantId', 'agentApiKey'),
      ...pick(target, 'deployment', 'deploymentId', 'agentOrigins', 'secrets'),
      preview: isPreview(config, target.deployment) ? true : undefined,
      controlPlane: normalizeServiceUrl(controlPlane),
      agentUrl: agentUrl && normalizeServiceUrl(agentUrl),
      sourceConfig: sourceConfig(config, target, buildable),
      // Absent if it is the default: requests stay as older versions wrote them.
      vocabulary: vocabulary === 'contract' ? undefined : vocabulary,
    },
    ...pick(config, 'checks', 'checksBudget', 'steps'),
    ...pick(target, 'queue', 'onError', 'approval', 'freezes'),
    soakMs: target.soak,
    pauseMs: target.pauseFor,
    graphConfigPath: buildable ? (config.artifact.graphConfig ?? GRAPH_CONFIG[target.vocabulary]) : null,
    guard: guardSettings(config, name, target),
    notify: receivers.length === 0 ? undefined : receivers,
  };
}

/** Why a target would reject every request with these settings; `undefined`: it would not. */
export function settingsProblem(settings: ReleaseSettings): string | undefined {
  const { deployment = 'found by its id' } = settings.target;
  return releaseRequestProblem({
    ...SMALLEST_REQUEST,
    ...settings,
    checks: beforeReading(settings.checks),
    target: { ...settings.target, deployment },
  });
}

/** The fields that the command adds to the settings. */
const SMALLEST_REQUEST: Omit<ReleaseRequest, keyof ReleaseSettings> = {
  requestKey: 'key',
  artifact: { kind: 'git', ref: 'main' },
  recordStore: 'records',
  requestedBy: { who: 'lint', from: 'cli' },
};

/** The file's default name, by vocabulary (contract/controlPlane/vocabulary.ts). */
const GRAPH_CONFIG = { contract: 'graph.json', public: 'langgraph.json' } as const;

/** The fields of contract 000, "SourceConfig", that apply to the source. */
function sourceConfig(config: Config, target: TargetConfig, buildable: boolean): Record<string, unknown> {
  return present({
    install_command: buildable ? config.artifact.installCommand : undefined,
    build_command: buildable ? config.artifact.buildCommand : undefined,
    // A control plane rejects them for other sources.
    resource_spec: target.source === 'external_image' ? target.resources : undefined,
    deployment_type: target.deploymentType,
    repo_url: target.repo?.url,
    integration_id: target.repo?.integrationId,
    build_on_push: target.repo?.buildOnPush,
  });
}

/** GitHub's API, if the file gives no other. */
const GITHUB_API = 'https://api.github.com';

function notifySettings(receivers: readonly ReceiverConfig[], target: string): readonly ReceiverSpec[] {
  return receivers
    .filter(({ targets }) => targets === undefined || targets.includes(target))
    .flatMap((receiver) => toReceiver(receiver) ?? []);
}

/** The schema has checked that each kind has its required fields. */
function toReceiver(receiver: ReceiverConfig): ReceiverSpec | undefined {
  const { kind, name, events, url, secret, token, repository, environment, context } = receiver;
  const named = { name, events };
  if (kind === 'slack') return url && { kind, ...named, url };
  if (kind === 'webhook') return url && secret && { kind, ...named, url, secret };
  if (token === undefined) return undefined;
  const apiUrl = normalizeServiceUrl(receiver.apiUrl ?? GITHUB_API);
  const github = { ...named, apiUrl, token, repository };
  return kind === 'github_deployment' ? { kind, ...github, environment } : { kind, ...github, context };
}

function guardSettings({ metrics }: Config, name: string, target: TargetConfig): GuardPolicy | undefined {
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
