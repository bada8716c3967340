import { inFile, type Row, section } from './row.ts';
import * as held from './tests.ts';

const resources = inFile('contract/test/controlPlane/resources.test.ts');
const deployment = inFile('contract/test/controlPlane/deployment.test.ts');
const INTEGRATION_KNOWN = inFile('platform/test/controlPlane/integrations.test.ts')('is refused as %j');
const LISTENER_KNOWN = inFile('platform/test/controlPlane/listeners.test.ts')(
  'must name one that is registered',
);
const COMMANDS_RUN = inFile('platform/test/builder/buildRevision.test.ts')(
  'has install_command run in its root and build_command beside its graph configuration',
);
const DETECTED = inFile('platform/test/builder/installPlan.test.ts')('follows from its %s (%j): %s');
const COMMIT_TOLD = inFile('platform/test/controlPlane/sources/repoHost.test.ts')(
  'is built from %s, and says from which commit',
);
const PUSHED = inFile('platform/test/controlPlane/pushes/pushes.test.ts')(
  'makes one revision of its commit, however often it is delivered',
);
const IN_THE_AGENT = inFile('platform/test/controlPlane/routes/routes.test.ts')(
  'are nowhere in the database or the logs as they are',
);

/** The type of a field of SourceConfig, the sources that it is for at creation and in a PATCH, and that it is kept. */
const config = (field: string) =>
  [
    held.SOURCE_FIELD(field),
    held.CREATED_BY_SOURCE(`source_config.${field}`),
    held.PATCHED_BY_SOURCE(`source_config.${field}`),
    held.KEPT(field),
  ] as const;

/** The same of SourceRevisionConfig, and that a PATCH of it makes a revision. */
const revisionConfig = (field: string) =>
  [
    held.REVISION_FIELD(field),
    held.CREATED_BY_SOURCE(`source_revision_config.${field}`),
    held.PATCHED_BY_SOURCE(`source_revision_config.${field}`),
    held.NEW_REVISION(`source_revision_config.${field}`),
  ] as const;

/** Contract 000, "SourceConfig" to "SecretReference", and "ListenerConfig". */
export const SOURCE_CONFIG_ROWS: readonly Row[] = [
  ...section('SourceConfig', [
    [
      'integration_id',
      ...config('integration_id'),
      held.IMMUTABLE('source_config.integration_id'),
      INTEGRATION_KNOWN('integration_unknown'),
    ],
    ['repo_url', ...config('repo_url'), held.IMMUTABLE('source_config.repo_url')],
    ['deployment_type', ...config('deployment_type'), held.IMMUTABLE('source_config.deployment_type')],
    ['build_on_push', ...config('build_on_push'), held.TAGS_AT_CREATION(), held.TAGS_IN_PATCH(), PUSHED()],
    [
      'custom_url',
      ...config('custom_url'),
      inFile('platform/test/controlPlane/routes/deploymentFields.test.ts')(
        'of source %s has its custom_url from the platform, and no other',
      )('repo_host'),
    ],
    ['resource_spec', ...config('resource_spec'), held.NEW_REVISION('source_config.resource_spec')],
    [
      'listener_id',
      ...config('listener_id'),
      held.IMMUTABLE('source_config.listener_id'),
      LISTENER_KNOWN('listener_id'),
    ],
    ['listener_config', ...config('listener_config'), held.LISTENER_FITS()],
    ['install_command', ...config('install_command'), COMMANDS_RUN(), DETECTED('package-lock.json')],
    ['build_command', ...config('build_command'), COMMANDS_RUN()],
  ]),
  ...section('SourceRevisionConfig', [
    [
      'repo_ref',
      ...revisionConfig('repo_ref'),
      deployment('has a branch as a bare name: %j')('refs/heads/main'),
      held.TAGS_AT_CREATION('refs/tags/v1'),
      held.TAGS_IN_PATCH('refs/tags/v1'),
      COMMIT_TOLD('refs/tags/v1'),
    ],
    [
      'graph_config_path',
      ...revisionConfig('graph_config_path'),
      deployment('requires graph_config_path for %s')('internal_source'),
      deployment('has a graph_config_path inside the source tree, not %j')('/graph.json'),
    ],
    ['image_uri', ...revisionConfig('image_uri')],
    ['source_tarball_path', ...revisionConfig('source_tarball_path'), held.OWN_OBJECT_PATH()],
    [
      'repo_commit_sha',
      resources('ignores repo_commit_sha, which is read-only')(),
      held.OWN_WORD('repo_commit_sha'),
      COMMIT_TOLD('a branch'),
    ],
  ]),
  ...section('Secret', [
    ['name', resources('requires name and value')(), IN_THE_AGENT()],
    ['value', resources('requires name and value')(), IN_THE_AGENT()],
  ]),
  ...section('Secret: rules', [
    ['secrets are environment variables of the deployment', IN_THE_AGENT()],
    [
      'pre-defined environment variables may be set',
      inFile('platform/test/runtime/agentProcess.test.ts')(
        'has a variable that it would have anyway as it was set',
      )(),
    ],
    ['on PATCH, non-null secrets create a revision', held.NEW_REVISION('secrets')],
  ]),
  ...section(
    'SecretReference',
    ['name', 'secret_name', 'secret_key'].map((field) => [
      field,
      resources('requires name, secret_name and secret_key of a reference')(),
      held.KEPT(field),
    ]),
  ),
  ...section('ListenerConfig', [
    [
      'cluster_namespace',
      resources('has a namespace that is a DNS label, nullable and optional')(),
      resources('is validated by the compute type of its listener')(),
      held.IMMUTABLE('source_config.listener_config.cluster_namespace'),
      held.LISTENER_FITS(),
      held.KEPT('cluster_namespace'),
    ],
  ]),
  ...section('ListenerConfig: rules', [
    [
      'only for external_image',
      held.CREATED_BY_SOURCE('source_config.listener_config'),
      held.PATCHED_BY_SOURCE('source_config.listener_config'),
    ],
  ]),
];
