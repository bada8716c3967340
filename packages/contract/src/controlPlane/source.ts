import { z } from 'zod';

import type { ValidationIssue } from '../httpErrors.ts';
import { TEXT_MAX } from '../limits.ts';
import { HttpUrl, nonEmptyText, oneOf, RelativePath, Uuid } from '../scalars.ts';
import { ListenerConfig } from './listener.ts';
import { ResourceSpec } from './resourceSpec.ts';

/** What a deployment is made from (contract 000, "Deployment": `source`). Immutable. */
export const Source = oneOf(['repo_host', 'external_image', 'internal_image', 'internal_source']);
export type Source = z.infer<typeof Source>;

/** The prefix of a tag in `repo_ref`; anything else is a branch's bare name (contract 000, "SourceRevisionConfig"). */
const TAG_PREFIX = 'refs/tags/';

/**
 * A branch as a bare name, or a tag as a full path. Decision: git's rules for names apply (no blanks, no `..`, none
 * of `~^:?*[\\`, no leading hyphen), and `refs/tags/` is the only allowed full path.
 */
const RepoRef = z
  .string()
  .min(1, { abort: true })
  .max(TEXT_MAX)
  .regex(
    /^(?!-)(?!refs\/(?!tags\/[^/]))(?!.*(?:\.\.|\/\/|@\{))[^\s\p{Cc}\p{Surrogate}~^:?*[\\]+(?<![/.])$/u,
    { error: 'Input should be a branch (bare name) or a tag (full path starting refs/tags/)' },
  );

/**
 * The fields of a request about the source that create a revision (contract 000, "SourceRevisionConfig"). Every field
 * is nullable and optional; rules by source are in {@link findInapplicableFields}. `repo_commit_sha` is read-only, and
 * ignored in requests like every read-only field. Only the control plane knows whether a `source_tarball_path` came
 * from the upload-url endpoint.
 */
export const SourceRevisionConfig = z.object({
  repo_ref: RepoRef.nullish(),
  graph_config_path: RelativePath.nullish(),
  image_uri: nonEmptyText().nullish(),
  source_tarball_path: nonEmptyText().nullish(),
});
export type SourceRevisionConfig = z.infer<typeof SourceRevisionConfig>;

/** {@link SourceRevisionConfig} in an answer: of the latest revision in a Deployment, of itself in a Revision. */
export const AnsweredSourceRevisionConfig = z.looseObject({
  repo_ref: z.string().nullish(),
  graph_config_path: z.string().nullish(),
  image_uri: z.string().nullish(),
  source_tarball_path: z.string().nullish(),
  repo_commit_sha: z.string().nullish(),
});

/** Contract 000, "SourceConfig": `deployment_type`. */
const DeploymentType: z.ZodType<string, string> = oneOf(['dev_free', 'dev', 'prod']);

/** The values that clients of the public API send: its document has the contract's, its newest clients two more. */
export const PUBLIC_DEPLOYMENT_TYPES = ['serverless', 'dedicated'] as const;
export const PublicDeploymentType: z.ZodType<string, string> = oneOf([
  'dev_free',
  'dev',
  'prod',
  ...PUBLIC_DEPLOYMENT_TYPES,
]);

/**
 * The fields of a request about the source that (except `resource_spec`) do not create a revision (contract 000,
 * "SourceConfig"). Every field is nullable and optional; {@link findInapplicableFields} checks fields by source.
 * Decision: `null` means the same as absent; in a PATCH both keep the current value. Decision: `install_command` and
 * `build_command` are accepted for every source, because the contract names none for them; they have no effect
 * without a build.
 */
export const SourceConfig = z.object({
  integration_id: Uuid.nullish(),
  repo_url: nonEmptyText().nullish(),
  deployment_type: DeploymentType.nullish(),
  build_on_push: z.boolean().nullish(),
  custom_url: HttpUrl.nullish(),
  resource_spec: ResourceSpec.nullish(),
  listener_id: Uuid.nullish(),
  listener_config: ListenerConfig.nullish(),
  install_command: nonEmptyText().nullish(),
  build_command: nonEmptyText().nullish(),
});
export type SourceConfig = z.infer<typeof SourceConfig>;

/** {@link SourceConfig} in the public vocabulary. */
export const PublicSourceConfig = SourceConfig.extend({ deployment_type: PublicDeploymentType.nullish() });

/** {@link SourceConfig} in an answer. It checks only the fields that readers depend on. */
export const AnsweredSourceConfig = z.looseObject({
  integration_id: z.string().nullish(),
  repo_url: z.string().nullish(),
  deployment_type: z.string().nullish(),
  build_on_push: z.boolean().nullish(),
  custom_url: z.string().nullish(),
  resource_spec: z.looseObject({}).nullish(),
  listener_id: z.string().nullish(),
  listener_config: z.looseObject({ cluster_namespace: z.string().nullish() }).nullish(),
  install_command: z.string().nullish(),
  build_command: z.string().nullish(),
});

/** The sources that are built from source code; the others have no graph configuration. */
export const BUILDABLE_SOURCES: readonly string[] = ['repo_host', 'internal_source'] satisfies Source[];

/**
 * The sources that a field applies to (contract 000, the "Rules" columns). `image_uri` is "for `external_image`".
 * Decision: it is also for `internal_image` ("meaning: not shown"), which has no other field to name its image.
 */
const FIELD_SOURCES: readonly (readonly [path: readonly string[], sources: readonly Source[]])[] = [
  [['source_config', 'integration_id'], ['repo_host']],
  [['source_config', 'repo_url'], ['repo_host']],
  [['source_config', 'deployment_type'], ['repo_host']],
  [['source_config', 'build_on_push'], ['repo_host']],
  [['source_config', 'custom_url'], ['external_image']],
  [['source_config', 'resource_spec'], ['external_image']],
  [['source_config', 'listener_id'], ['external_image']],
  [['source_config', 'listener_config'], ['external_image']],
  [['source_revision_config', 'repo_ref'], ['repo_host']],
  [
    ['source_revision_config', 'graph_config_path'],
    ['repo_host', 'internal_source'],
  ],
  [
    ['source_revision_config', 'image_uri'],
    ['external_image', 'internal_image'],
  ],
  [['source_revision_config', 'source_tarball_path'], ['internal_source']],
  [['secret_references'], ['external_image']],
];

/** The fields that do not apply to the source. Null, an empty list and what `isCurrent` accepts are allowed. */
export function findInapplicableFields(
  source: string,
  request: unknown,
  isCurrent: (path: readonly string[], value: unknown) => boolean = () => false,
): ValidationIssue[] {
  return FIELD_SOURCES.flatMap(([path, sources]): ValidationIssue[] => {
    const value = valueAt(request, path);
    if (value == null || (Array.isArray(value) && value.length === 0)) return [];
    // For a source that the contract does not name, only the service knows its fields.
    if (
      !(Source.options as readonly string[]).includes(source) ||
      (sources as readonly string[]).includes(source)
    )
      return [];
    if (isCurrent(path, value)) return [];
    return [
      { loc: ['body', ...path], msg: `Only for source ${sources.join(' or ')}`, type: 'not_applicable' },
    ];
  });
}

/**
 * A tag needs `build_on_push` false (contract 000, "SourceRevisionConfig": "requires `source_config.build_on_push` =
 * false"). Decision: taken literally, so absent or null is not enough.
 */
export function checkTagRule(
  repoRef: string | null | undefined,
  buildOnPush: boolean | null | undefined,
): ValidationIssue[] {
  if (repoRef?.startsWith(TAG_PREFIX) !== true || buildOnPush === false) return [];
  return [
    {
      loc: ['body', 'source_config', 'build_on_push'],
      msg: 'Must be false when source_revision_config.repo_ref is a tag (starts with refs/tags/)',
      type: 'tag_builds_on_push',
    },
  ];
}

/** The value at a path of names; `undefined` if there is none. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = (current as Record<string, unknown>)[name];
  }
  return current;
}
