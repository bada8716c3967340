import { isWithin, originOf } from './origin.ts';

/**
 * The place of a secret, never the secret itself: `env:NAME` or `file:/path` on the worker. Activities resolve it, so
 * that no history contains a value.
 */
export interface SecretReference {
  readonly from: string;
}

/** A secret of the deployment: its environment variable, and where its value comes from. */
export interface NamedSecretReference extends SecretReference {
  readonly name: string;
}

/** A target for workflows: everything that activities need to reach the deployment, without secrets. */
export interface TargetSpec {
  /** The target's name in `slipway.yaml`, for people. */
  readonly name: string;
  /** The control plane's base URL, normalized. */
  readonly controlPlane: string;
  /** Identifies a control plane with several addresses: the same id means the same control plane. */
  readonly controlPlaneId?: string;
  /** The vocabulary of the control plane's API: that of contract 000 (also if absent), or of the public API. */
  readonly vocabulary?: 'contract' | 'public';
  /** The control plane's API key. */
  readonly apiKey: SecretReference;
  /** The tenant, if the key is for several: a uuid in lower case. Default: the key's own. */
  readonly tenantId?: string;
  /** The agent's API key. Default: the control plane's, sent only where {@link mayHaveKey} allows. */
  readonly agentApiKey?: SecretReference;
  /** The deployment's name, by which it is found or created. */
  readonly deployment: string;
  /** The deployment is a preview's, which is removed with it. Absent: it is not. */
  readonly preview?: true;
  /** The deployment's id, if the control plane offers no list to find it by name. */
  readonly deploymentId?: string;
  /** The agent's address, if the control plane reports none (`source_config.custom_url`). */
  readonly agentUrl?: string;
  /** Further origins that the control plane's key may be sent to: `https://host`, `https://*.example.com`. */
  readonly agentOrigins?: readonly string[];
  /** Contract 000, Deployment: `source`. */
  readonly source: 'repo_host' | 'external_image' | 'internal_image' | 'internal_source';
  /** Settings of the deployment that a release sends (contract 000, SourceConfig). They contain no secrets. */
  readonly sourceConfig: Readonly<Record<string, unknown>>;
  /** The complete list of secrets. Absent: the deployment keeps its secrets. */
  readonly secrets?: readonly NamedSecretReference[];
}

/** A target, and the record store that has its state if Temporal has no run of it any more. */
export interface RecordedTarget {
  readonly target: TargetSpec;
  /** The artifact store's URL. */
  readonly recordStore: string;
}

/** The settings that a restore needs, without those of the deployment. */
export function settingsForRestore({ secrets: _, ...settings }: TargetSpec): TargetSpec {
  return { ...settings, sourceConfig: {} };
}

/** Whether two settings reach a target's agent in the same way: same address and same key. */
export function reachSameAgent(one: TargetSpec, other: TargetSpec): boolean {
  const keyOf = ({ agentApiKey, apiKey }: TargetSpec): string => (agentApiKey ?? apiKey).from;
  return one.agentUrl === other.agentUrl && keyOf(one) === keyOf(other);
}

/**
 * The workflow id of a target, so that repositories that release to one deployment share one lock. Names are unique
 * within a tenant, so a tenant is part of the id. Different spellings of an address give the same id. Other addresses
 * of one control plane need a `controlPlaneId`. Without it they are different targets, and the deployment's lock
 * keeps them apart (`workflows/deployment/deployment.ts`). It also keeps a preview apart from another repository's target
 * for the same deployment, which the preview's removal would delete.
 */
export function targetWorkflowId(
  target: Pick<TargetSpec, 'controlPlane' | 'controlPlaneId' | 'deployment' | 'tenantId' | 'preview'>,
): string {
  const { controlPlane, controlPlaneId, deployment, tenantId, preview } = target;
  const tenant = tenantId === undefined ? '' : `${tenantId}:`;
  const kind = preview === true ? 'target:preview' : 'target';
  return `${kind}:${controlPlaneId ?? canonicalAddress(controlPlane)}:${tenant}${deployment}`;
}

/** The workflow id of the target of a release or a rollback, of which this is the workflow id. */
export function targetOf(workId: string): string {
  return workId.slice(0, workId.lastIndexOf('/'));
}

/** A URL in one spelling. Loopback names become 127.0.0.1; another address of 127.0.0.0/8 may be another service. */
export function canonicalAddress(url: string): string {
  return `${originOf(url)}${new URL(url).pathname.replace(/\/+$/, '')}`;
}

/** The header that names the tenant, if the target has one, in addition to the key. */
export function tenantHeaders({ tenantId }: Pick<TargetSpec, 'tenantId'>): Record<string, string> {
  return tenantId === undefined ? {} : { 'x-tenant-id': tenantId };
}

/** The allowed names of targets. They are also names of files and of a folder of records. */
export const TARGET_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** What is wrong with the base URL of a service; `undefined` if nothing. */
export function serviceUrlProblem(url: string): string | undefined {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) return 'expected an http or https URL';
  if (parsed.username !== '' || parsed.password !== '') return 'must not carry credentials; use apiKey';
  return undefined;
}

/** A service's base URL in one spelling: lower-case scheme and host, no default port, no trailing slash. */
export function normalizeServiceUrl(url: string): string {
  const parsed = new URL(url);
  return `${parsed.protocol}//${parsed.host}${parsed.pathname.replace(/\/+$/, '')}`;
}

/**
 * Whether an agent may receive the control plane's key: at the control plane's own origin, the target's `agentUrl`,
 * or one of `agentOrigins`. This is needed because the control plane's answer may name any address.
 */
export function mayHaveKey(
  target: Pick<TargetSpec, 'controlPlane' | 'agentUrl' | 'agentOrigins'>,
  url: string,
): boolean {
  const { controlPlane, agentUrl = controlPlane, agentOrigins = [] } = target;
  const own = [controlPlane, agentUrl].map(originOf);
  return own.includes(originOf(url)) || agentOrigins.some((other) => isWithin(url, other));
}
