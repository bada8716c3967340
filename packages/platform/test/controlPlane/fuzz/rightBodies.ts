import fc from 'fast-check';

import type { Known } from './stock.ts';

/** Valid bodies by endpoint. Endpoints without one get only garbage. */
export function rightBodies(known: Known): Readonly<Record<string, fc.Arbitrary<unknown>>> {
  return {
    createDeployment: createBody(known),
    patchDeployment: patchBody(known),
    createListener: listenerBody,
    patchListener: listenerPatch,
    createIntegration: integrationBody,
    createApiKey: keyBody,
    createUploadUrl: uploadBody,
    createUploadUrlVersioned: uploadBody,
    getBuildLogs: logsBody,
    getDeployLogs: logsBody,
    getProjectDeployLogs: logsBody,
  };
}

/** An object whose fields are all optional. */
const optional = <T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(fields, { requiredKeys: [] });

const name = fc
  .string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 12 })
  .map((text) => `f-${text.trim()}.`);
const label = fc.constantFrom('a', 'data', 'side-car', 'x1');
const identifier = fc.constantFrom('A', 'MODEL_KEY', '_x', 'B2');
const mount = fc.record(
  { name: label, mountPath: fc.constantFrom('/a', '/b') },
  { requiredKeys: ['name', 'mountPath'] },
);
const container = fc.record(
  {
    name: label,
    image: fc.constant('registry.invalid/side:1'),
    imagePullPolicy: fc.constantFrom('Always', 'Never', 'IfNotPresent'),
    command: fc.array(fc.string(), { maxLength: 2 }),
    env: fc.array(fc.record({ name: identifier, value: fc.string() }, { requiredKeys: ['name'] }), {
      maxLength: 2,
    }),
    resources: optional({ limits: fc.constant({ cpu: '1' }) }),
    restartPolicy: fc.constantFrom('Always', 'OnFailure'),
    volumeMounts: fc.array(mount, { maxLength: 1 }),
  },
  { requiredKeys: ['name', 'image'] },
);
const resourceSpec = optional({
  min_scale: fc.nat(10),
  max_scale: fc.nat(10),
  cpu: fc.double({ min: 0.1, max: 8, noNaN: true }),
  cpu_limit: fc.double({ min: 0.1, max: 16, noNaN: true }),
  memory_mb: fc.nat(100_000),
  queue_cpu: fc.double({ min: 0.1, max: 8, noNaN: true }),
  cache_cpu_limit: fc.double({ min: 0.1, max: 16, noNaN: true }),
  db_cpu: fc.double({ min: 0, max: 4, noNaN: true }),
  db_storage_gi: fc.nat(100),
  labels: fc.dictionary(fc.string({ maxLength: 5 }), fc.string({ maxLength: 5 }), { maxKeys: 2 }),
  image_pull_secrets: fc.array(fc.record({ name: label }), { maxLength: 1 }),
  volumes: fc.uniqueArray(fc.record({ name: label, emptyDir: fc.constant({}) }), {
    maxLength: 3,
    selector: (each) => each.name,
  }),
  volume_mounts: fc.array(mount, { maxLength: 1 }),
  sidecars: fc.array(container, { maxLength: 1 }),
  init_containers: fc.array(container, { maxLength: 1 }),
});
const secrets = fc.array(fc.record({ name: identifier, value: fc.string({ maxLength: 10 }) }), {
  maxLength: 2,
});
const references = fc.array(fc.record({ name: identifier, secret_name: label, secret_key: label }), {
  maxLength: 2,
});
const sourceConfigs = (known: Known) =>
  ({
    repo_host: optional({
      repo_url: fc.constant('https://git.invalid/agent.git'),
      deployment_type: fc.constantFrom('dev_free', 'dev', 'prod'),
      build_on_push: fc.boolean(),
      integration_id: fc.constantFrom(...known.integrations),
    }),
    external_image: optional({
      custom_url: fc.constant('https://agent.invalid'),
      resource_spec: resourceSpec,
      listener_id: fc.constantFrom(...known.listeners),
      listener_config: fc.constant({ cluster_namespace: 'default' }),
    }),
    internal_image: fc.constant({}),
    internal_source: optional({
      install_command: fc.constant('npm ci'),
      build_command: fc.constant('npm run build'),
    }),
  }) as const;
const graphConfig = fc.constantFrom('graph.json', 'app/graph.json');
const repoRef = fc.constantFrom('main', 'refs/tags/v1', 'feature/x');
const image = fc.constant('registry.invalid/agent:1');

const revisionConfigs = (known: Known) =>
  ({
    repo_host: fc.record(
      { graph_config_path: graphConfig, repo_ref: repoRef },
      { requiredKeys: ['graph_config_path'] },
    ),
    external_image: optional({ image_uri: image }),
    internal_image: optional({ image_uri: image }),
    internal_source: fc.record(
      {
        graph_config_path: graphConfig,
        source_tarball_path: fc.constantFrom('made/up', ...known.objectPaths),
      },
      { requiredKeys: ['graph_config_path'] },
    ),
  }) as const;

const SOURCES = ['repo_host', 'external_image', 'internal_image', 'internal_source'] as const;

function createBody(known: Known): fc.Arbitrary<unknown> {
  return fc.constantFrom(...SOURCES).chain((source) =>
    fc.record(
      {
        name,
        source: fc.constant(source),
        source_config: sourceConfigs(known)[source],
        source_revision_config: revisionConfigs(known)[source],
        secrets,
        secret_references: source === 'external_image' ? references : fc.constant(null),
        image_version: fc.constantFrom('1', null),
      },
      { requiredKeys: ['name', 'source', 'source_config', 'source_revision_config', 'secrets'] },
    ),
  );
}

function patchBody(known: Known): fc.Arbitrary<unknown> {
  const ofAnySource = fc.record(
    { secrets, image_version: fc.constantFrom('2', null), source_config: fc.constant({}) },
    { requiredKeys: [] },
  );
  const ofOneSource = fc.constantFrom(...SOURCES).chain((source) =>
    optional({
      source_config: sourceConfigs(known)[source],
      source_revision_config: revisionConfigs(known)[source],
      secrets,
      secret_references: source === 'external_image' ? references : fc.constant(null),
    }),
  );
  return fc.oneof({ weight: 1, arbitrary: ofAnySource }, { weight: 4, arbitrary: ofOneSource });
}

const namespaces = fc.uniqueArray(label, { maxLength: 2 });
const listenerBody = fc.oneof(
  fc.record(
    {
      compute_type: fc.constant('cluster'),
      compute_id: name,
      compute_config: optional({ cluster_namespaces: namespaces }),
      version: fc.constantFrom('1', null),
    },
    { requiredKeys: ['compute_type', 'compute_id', 'compute_config'] },
  ),
  fc.record({ compute_type: fc.constant('docker'), compute_id: name, compute_config: fc.constant({}) }),
);
const listenerPatch = optional({
  version: fc.constantFrom('1', '2', null),
  compute_type: fc.constantFrom('cluster', null),
  compute_config: optional({ cluster_namespaces: namespaces }),
});
const integrationBody = fc.oneof(
  fc.record(
    {
      name,
      url_prefix: fc.constantFrom('https://git.invalid/', 'https://git.invalid/team/'),
      username: fc.constantFrom('token', null),
      credential: fc.constantFrom('env:TOKEN', 'file:/run/token', null),
      webhook_secret: fc.constantFrom('env:HOOK', null),
    },
    { requiredKeys: ['name', 'url_prefix'] },
  ),
  fc.record({
    name,
    url_prefix: fc.constantFrom('ssh://git@git.invalid/', 'git@git.invalid:team/'),
    credential: fc.constant('file:/run/key'),
  }),
);
const keyBody = fc.record(
  {
    name,
    scope: fc.constantFrom('read', 'deploy', 'admin'),
    expires_at: fc.constantFrom('2999-01-01T00:00:00Z', '2999-01-01T00:00:00+02:00', null),
    tenant_ids: fc.array(fc.uuid(), { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: ['name', 'scope'] },
);
const uploadBody = fc.record(
  { content_length: fc.oneof(fc.integer({ min: 1, max: 209_715_200 }), fc.constant(null)) },
  { requiredKeys: [] },
);
const logsBody = optional({
  order: fc.constantFrom('asc', 'desc'),
  limit: fc.integer({ min: 1, max: 1_000 }),
  offset: fc.constantFrom('1', 5, null),
  query: fc.constantFrom('built', '%', '', null),
  start_time: fc.constantFrom('2026-01-01T00:00:00Z', null),
  end_time: fc.constantFrom('2999-01-01T00:00:00Z', null),
});
