import { z } from 'zod';

import { refuseAll, type ValidationIssue } from '../httpErrors.ts';
import { isRecord } from '../json.ts';
import { DeploymentFields, DeploymentPatch, validateCreate } from './deployment.ts';
import { BUILDABLE_SOURCES, PublicSourceConfig } from './source.ts';
import { translateResource, translateIssues, VOCABULARY } from './vocabulary.ts';

/** `POST /v2/deployments` by the contract's rules, except that every source may have `deployment_type`. */
export const TypedDeploymentCreate = DeploymentFields.extend({
  source_config: PublicSourceConfig,
}).superRefine((request, context) => refuseAll(context, validateCreate(request, isDeploymentType)));

/**
 * `POST /v2/deployments` from clients of the public API, in the contract's names ({@link fromPublicRequest}). It is
 * looser than `DeploymentCreate` where those clients leave out what the contract requires (measured: the public
 * deploy command). Decisions:
 * - `secrets` may be absent: none.
 * - `source_revision_config` may be empty: the graph configuration of a buildable source is then `langgraph.json`.
 * - `deployment_type` is accepted for every source, stored and returned. It has no effect on this platform.
 */
export const PublicDeploymentCreate = z.preprocess(withPublicDefaults, TypedDeploymentCreate);

/** `PATCH /v2/deployments/{deployment_id}` from clients of the public API, in the contract's names. */
export const PublicDeploymentPatch = DeploymentPatch.extend({ source_config: PublicSourceConfig.nullish() });

/**
 * Translates a request of the public vocabulary to the contract's names. Its `revision_source` ("override the source
 * for this revision") becomes `source`. Decision: a deployment has one source, so a different one is refused like any
 * other change of it.
 */
export function fromPublicRequest(request: unknown): unknown {
  return translateResource(withSource(request), 'contract');
}

/** The issues of a request that {@link fromPublicRequest} translated, in the request's own names. */
export function toPublicIssues(request: unknown, issues: readonly ValidationIssue[]): ValidationIssue[] {
  const translated = translateIssues(issues, 'public');
  if (!hasRevisionSource(request)) return translated;
  return translated.map((issue) =>
    issue.loc[1] === 'source' ? { ...issue, loc: issue.loc.with(1, 'revision_source') } : issue,
  );
}

function withSource(request: unknown): unknown {
  if (!hasRevisionSource(request)) return request;
  const { revision_source: source, ...rest } = request;
  return { ...rest, source };
}

function hasRevisionSource(request: unknown): request is { revision_source: unknown } {
  return typeof request === 'object' && request !== null && Object.hasOwn(request, 'revision_source');
}

function isDeploymentType(path: readonly string[]): boolean {
  return path.at(-1) === 'deployment_type';
}

function withPublicDefaults(request: unknown): unknown {
  if (!isRecord(request)) return request;
  const { secrets, source, source_revision_config: revision } = request;
  const withSecrets = { ...request, secrets: secrets ?? [] };
  const graphConfigPath = (revision as { graph_config_path?: unknown } | null | undefined)?.graph_config_path;
  if (typeof revision !== 'object' || revision === null || graphConfigPath != null) return withSecrets;
  if (typeof source !== 'string' || !BUILDABLE_SOURCES.includes(source)) return withSecrets;
  return {
    ...withSecrets,
    source_revision_config: { ...revision, graph_config_path: VOCABULARY.graphConfigFile.public },
  };
}
