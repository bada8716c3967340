import type { z } from 'zod';

import { oneOf } from '../scalars.ts';
import { TAG_PREFIX } from './sourceRevisionConfig.ts';

/** What a deployment is made from (contract 000, "Deployment": `source`). Immutable. */
export const Source = oneOf(['repo_host', 'external_image', 'internal_image', 'internal_source']);
export type Source = z.infer<typeof Source>;

/** A rule of contract 000 that a request breaks: where (without the leading `body`), why, and which rule. */
export interface Breach {
  readonly path: (string | number)[];
  readonly message: string;
  readonly type: string;
}

/** The sources that are built from source code; for the others there is nothing to configure a graph by. */
export const BUILDABLE_SOURCES: readonly string[] = ['repo_host', 'internal_source'] satisfies Source[];

/**
 * Which sources a field is for (contract 000, the "Rules" columns). `image_uri` is "for `external_image`"; decision: it
 * is also for `internal_image` ("meaning: not shown"), which has no other field that could name its image.
 */
const APPLICABLE: readonly (readonly [path: readonly string[], sources: readonly Source[]])[] = [
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

/**
 * The fields of a request that its source does not have. `null` is never a breach, nor is an empty list of
 * references; `isCurrent` may excuse a value that is the deployment's own already.
 */
export function inapplicableFields(
  source: string,
  request: unknown,
  isCurrent: (path: readonly string[], value: unknown) => boolean = () => false,
): Breach[] {
  return APPLICABLE.flatMap(([path, sources]): Breach[] => {
    const value = valueAt(request, path);
    if (value == null || (Array.isArray(value) && value.length === 0)) return [];
    // A source that nobody has named yet: which fields it has only the service knows.
    if (
      !(Source.options as readonly string[]).includes(source) ||
      (sources as readonly string[]).includes(source)
    )
      return [];
    if (isCurrent(path, value)) return [];
    return [{ path: [...path], message: `Only for source ${sources.join(' or ')}`, type: 'not_applicable' }];
  });
}

/**
 * A tag needs `build_on_push` false (contract 000, "SourceRevisionConfig": "requires `source_config.build_on_push` =
 * false"). Decision: taken literally, so an absent or null `build_on_push` does not do beside a tag.
 */
export function tagRule(
  repoRef: string | null | undefined,
  buildOnPush: boolean | null | undefined,
): Breach[] {
  if (repoRef?.startsWith(TAG_PREFIX) !== true || buildOnPush === false) return [];
  return [
    {
      path: ['source_config', 'build_on_push'],
      message: 'Must be false when source_revision_config.repo_ref is a tag (starts with refs/tags/)',
      type: 'tag_builds_on_push',
    },
  ];
}

/** The value at a path of names, `undefined` where the path leads nowhere. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = (current as Record<string, unknown>)[name];
  }
  return current;
}
