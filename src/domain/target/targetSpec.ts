import { isWithin, originOf } from './origin.ts';

/**
 * Where a secret comes from, never the secret itself: `env:NAME` or `file:/path` on the worker. Activities resolve it,
 * so that no history holds a value.
 */
export interface SecretReference {
  readonly from: string;
}

/** A secret of the deployment: the environment variable it becomes, and where its value comes from. */
export interface NamedSecretReference extends SecretReference {
  readonly name: string;
}

/** Contract 000, Deployment: `source`. */
type DeploymentSource = 'repo_host' | 'external_image' | 'internal_image' | 'internal_source';

/** Whose names a control plane speaks on the wire: those of contract 000, or those of its public relative. */
type TargetVocabulary = 'contract' | 'public';

/** A target as a workflow sees it: everything an activity needs to reach the deployment, without one secret. */
export interface TargetSpec {
  /** The target's name in `slipway.yaml`, for people. */
  readonly name: string;
  /** The control plane's base URL, normalized. */
  readonly controlPlane: string;
  /** Names the control plane where it has several addresses: the same name means the same control plane. */
  readonly controlPlaneId?: string;
  /** Whose names the control plane speaks. Default: the contract's. Absent in every request from before it was there. */
  readonly vocabulary?: TargetVocabulary;
  /** The control plane's API key. */
  readonly apiKey: SecretReference;
  /** Which of the tenants that the key is for, a uuid in lower case. Default: the key's own. */
  readonly tenantId?: string;
  /** The agent's API key, sent wherever the agent is. Default: the control plane's, sent to {@link mayHaveKey} alone. */
  readonly agentApiKey?: SecretReference;
  /** The deployment's name; with it alone the deployment is found, or created. */
  readonly deployment: string;
  /** The deployment's id, where the control plane offers no list to find it by name. */
  readonly deploymentId?: string;
  /** The agent's address, where the control plane gives none (`source_config.custom_url`). */
  readonly agentUrl?: string;
  /** Further origins that the control plane's key may be sent to: `https://host`, `https://*.example.com`. */
  readonly agentOrigins?: readonly string[];
  readonly source: DeploymentSource;
  /** Settings of the deployment that a release sends along (contract 000, SourceConfig; no secret in it). */
  readonly sourceConfig: Readonly<Record<string, unknown>>;
  /** The whole list of secrets; absent: the deployment's secrets are carried over. */
  readonly secrets?: readonly NamedSecretReference[];
}

/** Settings without those of the deployment: what the way back needs of them. */
export function settingsForRestore({ secrets: _, ...settings }: TargetSpec): TargetSpec {
  return { ...settings, sourceConfig: {} };
}

/** Whether two settings reach a target's agent in the same way: at the same address, under the same key. */
export function reachSameAgent(one: TargetSpec, other: TargetSpec): boolean {
  const keyOf = ({ agentApiKey, apiKey }: TargetSpec): string => (agentApiKey ?? apiKey).from;
  return one.agentUrl === other.agentUrl && keyOf(one) === keyOf(other);
}

/**
 * The id of the target's workflow: two repositories that ship to one deployment share one lock. Names are unique within
 * a tenant, so a named tenant is part of it. Spellings of one address give one id; addresses that only a
 * `controlPlaneId` joins are different targets without it, and the lock of the deployment keeps them apart
 * (`workflows/deployment/deployment.ts`).
 */
export function targetWorkflowId(
  target: Pick<TargetSpec, 'controlPlane' | 'controlPlaneId' | 'deployment' | 'tenantId'>,
): string {
  const { controlPlane, controlPlaneId, deployment, tenantId } = target;
  const tenant = tenantId === undefined ? '' : `${tenantId}:`;
  return `target:${controlPlaneId ?? canonicalAddress(controlPlane)}:${tenant}${deployment}`;
}

/**
 * An address in one spelling: loopback names are 127.0.0.1. On another address of 127.0.0.0/8 another service may
 * listen.
 */
function canonicalAddress(url: string): string {
  return `${originOf(url)}${new URL(url).pathname.replace(/\/+$/, '')}`;
}

/** The headers beside the key of every request for a target: which tenant it is for, where the target names one. */
export function tenantHeaders({ tenantId }: Pick<TargetSpec, 'tenantId'>): Record<string, string> {
  return tenantId === undefined ? {} : { 'x-tenant-id': tenantId };
}

/** What a target may be called: its name is also the name of files, and of a folder of records. */
export const TARGET_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** What is wrong with the base URL of a service; `undefined` if nothing is. */
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
 * Whether an agent may be sent the control plane's key: at the control plane's own origin, the target's `agentUrl`, or
 * one of `agentOrigins`. What the control plane answers may name any address.
 */
export function mayHaveKey(
  {
    controlPlane,
    agentUrl,
    agentOrigins = [],
  }: Pick<TargetSpec, 'controlPlane' | 'agentUrl' | 'agentOrigins'>,
  url: string,
): boolean {
  const origin = originOf(url);
  const given = [controlPlane, ...(agentUrl === undefined ? [] : [agentUrl])];
  return (
    given.some((other) => originOf(other) === origin) || agentOrigins.some((other) => isWithin(url, other))
  );
}
