import type { Evidence, ObservedRequest, TargetFacts } from '../../src/domain/audit/facts.ts';
import type { FaultProxy, LoggedRequest } from './faultProxy.ts';

/** A control plane behind a proxy that logs its requests. */
interface Watched {
  readonly controlPlane: string;
  readonly proxy: Pick<FaultProxy, 'log'>;
  call(method: string, path: string): Promise<unknown>;
}

interface Deployment {
  readonly id: string;
  readonly name: string;
}

interface Revision {
  readonly id: string;
  readonly source_revision_config: { readonly source_tarball_path?: string | null };
}

interface Listed<T> {
  readonly resources: readonly T[];
}

/** The evidence for checking a target: its histories, its control plane's revisions and change requests. */
export async function evidenceOf(
  stack: Watched,
  target: TargetFacts,
): Promise<Required<Omit<Evidence, 'secrets' | 'others'>>> {
  const name = target.workflowId.slice(`target:${stack.controlPlane}:`.length);
  const deployments = (await stack.call(
    'GET',
    `/v2/deployments?name_contains=${encodeURIComponent(name)}`,
  )) as Listed<Deployment>;
  const deployment = deployments.resources.find((candidate) => candidate.name === name);
  if (deployment === undefined) return { target, observed: [], requests: [] };
  const revisions = (await stack.call(
    'GET',
    `/v2/deployments/${deployment.id}/revisions?limit=100`,
  )) as Listed<Revision>;
  return {
    target,
    observed: revisions.resources.map(({ id, source_revision_config: config }) => ({
      revisionId: id,
      tarballPath: config.source_tarball_path ?? null,
    })),
    requests: stack.proxy.log.flatMap((logged) => observedRequest(logged, deployment.id) ?? []),
  };
}

/** A request that reached the control plane and may have changed the deployment. */
function observedRequest(logged: LoggedRequest, deploymentId: string): ObservedRequest | undefined {
  const { method, path, passages, body, at } = logged;
  if (!path.startsWith(`/v2/deployments/${deploymentId}`) || passages.length === 0) return undefined;
  const sentAt = performance.timeOrigin + at;
  if (method === 'PATCH') {
    const { source_revision_config: config } = JSON.parse(body ?? '{}') as Partial<Revision>;
    return { kind: 'patch', sentAt, tarballPath: config?.source_tarball_path ?? null, revisionId: null };
  }
  const [, revisionId] = /\/revisions\/([^/]+)\/redeploy$/.exec(path) ?? [];
  return revisionId === undefined ? undefined : { kind: 'redeploy', sentAt, tarballPath: null, revisionId };
}
