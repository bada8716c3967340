import { Deployment } from '../../src/controlPlane/deployment.ts';

/** The smallest valid request to create a deployment of each source. */
export const CREATES = {
  repo_host: createOf('repo_host', { graph_config_path: 'graph.json' }),
  external_image: createOf('external_image', {}),
  internal_image: createOf('internal_image', {}),
  internal_source: createOf('internal_source', { graph_config_path: 'graph.json' }),
};

function createOf<Source extends string, Config>(source: Source, source_revision_config: Config) {
  return { name: 'agent', source, source_config: {}, source_revision_config, secrets: [] };
}

export type SourceName = keyof typeof CREATES;
export const SOURCES = Object.keys(CREATES) as SourceName[];
export const ID = '11111111-1111-4111-8111-111111111111';
export const OTHER_ID = '22222222-2222-4222-8222-222222222222';

/** A request to create a deployment, with one more value at a path. */
export function createWith(source: SourceName, path: string, value: unknown): Record<string, unknown> {
  return withValue(CREATES[source], path, value);
}

/** A copy with a value at a path, `a.b.c`; `undefined` removes the field. */
export function withValue(base: object, path: string, value: unknown): Record<string, unknown> {
  const copy = structuredClone(base) as Record<string, unknown>;
  const names = path.split('.');
  const last = names.pop() ?? '';
  let inner = copy;
  for (const name of names) {
    inner[name] = { ...(inner[name] as object | undefined) };
    inner = inner[name] as Record<string, unknown>;
  }
  if (value === undefined) Reflect.deleteProperty(inner, last);
  else inner[last] = value;
  return copy;
}

/** Contract 000: field, the sources that have it, a valid value. */
export const BY_SOURCE: [string, SourceName[], unknown][] = [
  ['source_config.integration_id', ['repo_host'], ID],
  ['source_config.repo_url', ['repo_host'], 'https://git.example/agent.git'],
  ['source_config.deployment_type', ['repo_host'], 'prod'],
  ['source_config.build_on_push', ['repo_host'], true],
  ['source_config.custom_url', ['external_image'], 'https://agent.example'],
  ['source_config.resource_spec', ['external_image'], { cpu: 1 }],
  ['source_config.listener_id', ['external_image'], ID],
  ['source_config.listener_config', ['external_image'], {}],
  ['source_config.install_command', SOURCES, 'npm ci'],
  ['source_config.build_command', SOURCES, 'npm run build'],
  ['source_revision_config.repo_ref', ['repo_host'], 'main'],
  ['source_revision_config.graph_config_path', ['repo_host', 'internal_source'], 'agents/graph.json'],
  ['source_revision_config.image_uri', ['external_image', 'internal_image'], 'registry.example/agent:1'],
  ['source_revision_config.source_tarball_path', ['internal_source'], 'uploads/1.tar.gz'],
  ['secret_references', ['external_image'], [{ name: 'A', secret_name: 's', secret_key: 'k' }]],
];

const NOW = '2026-11-21T10:00:00Z';

/** A deployment of a source, as the control plane returns it. */
export function deployment(
  source: SourceName | 'source_of_tomorrow',
  changes: Record<string, unknown> = {},
): Deployment {
  let answered: Record<string, unknown> = {
    id: ID,
    tenant_id: ID,
    name: 'agent',
    source,
    source_config: {},
    source_revision_config: { graph_config_path: 'graph.json' },
    secrets: [],
    created_at: NOW,
    updated_at: NOW,
    status: 'READY',
    latest_revision_id: OTHER_ID,
    active_revision_id: null,
  };
  for (const [path, value] of Object.entries(changes)) answered = withValue(answered, path, value);
  return Deployment.parse(answered);
}
