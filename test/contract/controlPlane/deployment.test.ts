import { describe, expect, it } from 'vitest';

import {
  createsRevision,
  Deployment,
  DeploymentCreate,
  DeploymentDeleteQuery,
  DeploymentPatch,
  DeploymentsList,
  DeploymentsQuery,
  DeploymentStatus,
  REVISION_CREATING,
  Source,
  validatePatch,
} from '../../../src/contract/controlPlane/deployment.ts';
import { expectAccepted, expectRefused, placesOf } from '../checking.ts';
import { CREATES, createWith, ID, OTHER_ID, type SourceName, SOURCES, withValue } from './requests.ts';

const NOW = '2026-11-21T10:00:00Z';

/** A deployment of a source as the control plane answers it. */
function deployment(
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

function patchIssues(current: Deployment, patch: unknown): string[] {
  return validatePatch(current, DeploymentPatch.parse(patch)).map(
    ({ loc, type }) => `${loc.join('.')} ${type}`,
  );
}

/** Contract 000: field, the sources it is for, a right value. */
const BY_SOURCE: [string, SourceName[], unknown][] = [
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

describe('Contract 000, Deployment: words', () => {
  it('has these sources', () => {
    expect(Source.options).toEqual(['repo_host', 'external_image', 'internal_image', 'internal_source']);
  });

  it('has these statuses', () => {
    expect(DeploymentStatus.options).toEqual([
      'AWAITING_DATABASE',
      'READY',
      'UNUSED',
      'AWAITING_DELETE',
      'UNKNOWN',
    ]);
  });
});

describe('Contract 000, Deployment: the answer', () => {
  const answer = { ...deployment('internal_source') };

  it.each([
    'id',
    'tenant_id',
    'name',
    'source',
    'source_config',
    'source_revision_config',
    'secrets',
    'created_at',
    'updated_at',
    'status',
    'latest_revision_id',
    'active_revision_id',
  ])('must have %s', (field) => {
    expectRefused(Deployment, withValue(answer, field, undefined), `body.${field}`, 'missing');
  });

  it.each(['latest_revision_id', 'active_revision_id', 'secret_references', 'image_version'])(
    'may have null as %s',
    (field) => expectAccepted(Deployment, { ...answer, [field]: null }),
  );

  it('keeps fields and words that no contract names', () => {
    const more = { ...answer, status: 'NEW', source: 'new', more: 1, source_config: { more: { deep: 2 } } };
    expect(Deployment.parse(more)).toEqual(more);
  });

  it("may come without its secrets' values", () => {
    expectAccepted(Deployment, { ...answer, secrets: [{ name: 'A' }, { name: 'B', value: null }] });
  });

  it('comes in lists with the offset of the next page', () => {
    expectAccepted(DeploymentsList, { resources: [answer], offset: 1 });
    expectRefused(DeploymentsList, { resources: [answer] }, 'body.offset', 'missing');
  });
});

describe('Contract 000, Deployment: create', () => {
  it.each(SOURCES)('takes the smallest request for %s', (source) => {
    expectAccepted(DeploymentCreate, CREATES[source]);
  });

  it.each(['name', 'source', 'source_config', 'source_revision_config', 'secrets'])(
    'requires %s',
    (field) => {
      expectRefused(
        DeploymentCreate,
        createWith('internal_source', field, undefined),
        `body.${field}`,
        'missing',
      );
      expect(placesOf(DeploymentCreate, createWith('internal_source', field, null))).toEqual([
        `body.${field}`,
      ]);
    },
  );

  it.each([
    ['a', true],
    ['Ein Agent für 名前', true],
    ['x'.repeat(128), true],
    ['x'.repeat(129), false],
    ['', false],
    [' a', false],
    ['a\nb', false],
    ['a\0b', false],
  ])('bounds the name: %j', (name, right) => {
    expect(placesOf(DeploymentCreate, createWith('internal_source', 'name', name))).toEqual(
      right ? [] : ['body.name'],
    );
  });

  it('ignores read-only and unknown fields', () => {
    const request = {
      ...CREATES.internal_source,
      id: 'not even a uuid',
      tenant_id: 1,
      created_at: 1,
      updated_at: 1,
      status: 'READY',
      latest_revision_id: 1,
      active_revision_id: 1,
      unheard_of: {},
      source_revision_config: { graph_config_path: 'graph.json', repo_commit_sha: 'abc' },
    };
    expect(DeploymentCreate.parse(request)).toEqual(CREATES.internal_source);
  });

  it('takes image_version, which is not read-only', () => {
    expect(DeploymentCreate.parse(createWith('internal_source', 'image_version', '3.11')).image_version).toBe(
      '3.11',
    );
  });

  it.each(SOURCES.flatMap((source) => BY_SOURCE.map(([path, ...rest]) => [source, path, ...rest] as const)))(
    'for source %s has, or has not, %s',
    (source, path, sources, value) => {
      const request = createWith(source, path, value);
      if (sources.includes(source)) expectAccepted(DeploymentCreate, request);
      else expectRefused(DeploymentCreate, request, `body.${path}`, 'not_applicable');
    },
  );

  it.each(SOURCES.flatMap((source) => BY_SOURCE.map(([path]) => [source, path] as const)))(
    'for source %s takes null as %s, unless it is required',
    (source, path) => {
      const required =
        path.endsWith('graph_config_path') && ['repo_host', 'internal_source'].includes(source);
      expect(placesOf(DeploymentCreate, createWith(source, path, null))).toEqual(
        required ? [`body.${path}`] : [],
      );
    },
  );

  it('has an empty list of references as good as none', () => {
    expectAccepted(DeploymentCreate, createWith('internal_source', 'secret_references', []));
  });

  it.each(['repo_host', 'internal_source'] as const)('requires graph_config_path for %s', (source) => {
    const place = 'source_revision_config.graph_config_path';
    expectRefused(DeploymentCreate, createWith(source, place, undefined), `body.${place}`, 'missing');
  });

  it.each(['/graph.json', '../graph.json', 'a/../../graph.json', ''])(
    'has a graph_config_path inside the source tree, not %j',
    (path) => {
      const place = 'source_revision_config.graph_config_path';
      expect(placesOf(DeploymentCreate, createWith('internal_source', place, path))).toEqual([
        `body.${place}`,
      ]);
    },
  );

  it.each([
    ['main', true],
    ['feature/a-b_c', true],
    ['refs/heads/main', false],
    ['-upload-pack=x', false],
    ['a b', false],
    ['a..b', false],
    ['a^', false],
    ['a:b', false],
    ['a/', false],
    ['a//b', false],
    ['a\n', false],
    ['@{1}', false],
    ['', false],
  ])('has a branch as a bare name: %j', (ref, right) => {
    const place = 'source_revision_config.repo_ref';
    expect(placesOf(DeploymentCreate, createWith('repo_host', place, ref))).toEqual(
      right ? [] : [`body.${place}`],
    );
  });

  it.each([
    ['refs/tags/v1', false, true],
    ['refs/tags/v1', true, false],
    ['refs/tags/v1', null, false],
    ['refs/tags/v1', undefined, false],
    ['main', true, true],
    ['main', false, true],
    ['main', undefined, true],
    [undefined, true, true],
  ])('with ref %s and build_on_push %s is right: %s', (ref, push, right) => {
    const request = withValue(
      createWith('repo_host', 'source_revision_config.repo_ref', ref),
      'source_config.build_on_push',
      push,
    );
    if (right) expectAccepted(DeploymentCreate, request);
    else expectRefused(DeploymentCreate, request, 'body.source_config.build_on_push', 'tag_builds_on_push');
  });

  it('validates a namespace by its listener, so it needs one', () => {
    const request = createWith('external_image', 'source_config.listener_config', {
      cluster_namespace: 'agents',
    });
    expectRefused(DeploymentCreate, request, 'body.source_config.listener_id', 'missing');
    expectAccepted(DeploymentCreate, withValue(request, 'source_config.listener_id', ID));
  });

  it('tells every broken rule at once', () => {
    const request = {
      ...CREATES.repo_host,
      source_config: { build_on_push: true, listener_id: ID, resource_spec: { cpu: 1 } },
      source_revision_config: { repo_ref: 'refs/tags/v1', image_uri: 'x' },
    };
    expect(placesOf(DeploymentCreate, request).sort()).toEqual([
      'body.source_config.build_on_push',
      'body.source_config.listener_id',
      'body.source_config.resource_spec',
      'body.source_revision_config.graph_config_path',
      'body.source_revision_config.image_uri',
    ]);
  });
});

describe('Contract 000, Deployment: patch', () => {
  it('may say nothing', () => {
    expectAccepted(DeploymentPatch, {});
    expect(patchIssues(deployment('internal_source'), {})).toEqual([]);
  });

  it.each([
    'source_config',
    'source_revision_config',
    'secrets',
    'secret_references',
    'image_version',
    'name',
  ])('takes null as %s', (field) => expectAccepted(DeploymentPatch, { [field]: null }));

  it.each([
    ['name', 'internal_source', 'agent', 'another'],
    ['source', 'internal_source', 'internal_source', 'repo_host'],
    ['source_config.integration_id', 'repo_host', ID, OTHER_ID],
    ['source_config.repo_url', 'repo_host', 'https://git.example/a', 'https://git.example/b'],
    ['source_config.deployment_type', 'repo_host', 'dev', 'prod'],
    ['source_config.listener_id', 'external_image', ID, OTHER_ID],
    ['source_config.listener_config.cluster_namespace', 'external_image', 'agents', 'others'],
  ] as const)('may not change %s', (path, source, value, another) => {
    const current = deployment(source, { [path]: value });
    expect(patchIssues(current, withValue({}, path, another))).toEqual([`body.${path} immutable`]);
    expect(patchIssues(current, withValue({}, path, value))).toEqual([]);
    expect(patchIssues(current, withValue({}, path, null))).toEqual([]);
    // Not even where there was nothing: immutable is immutable.
    if (path.includes('.')) {
      expect(patchIssues(deployment(source), withValue({}, path, another))).toEqual([
        `body.${path} immutable`,
      ]);
    }
  });

  it.each(SOURCES.flatMap((source) => BY_SOURCE.map(([path, ...rest]) => [source, path, ...rest] as const)))(
    'of source %s has, or has not, %s',
    (source, path, sources, value) => {
      const issues = patchIssues(deployment(source), withValue({}, path, value));
      const immutable = /integration_id|repo_url|deployment_type|listener_id/u.test(path);
      if (!sources.includes(source)) expect(issues).toEqual([`body.${path} not_applicable`]);
      else expect(issues).toEqual(immutable ? [`body.${path} immutable`] : []);
    },
  );

  it('may send back what was read', () => {
    const current = deployment('internal_source', {
      'source_config.custom_url': 'http://127.0.0.1/agents/x',
    });
    expect(patchIssues(current, current)).toEqual([]);
    expect(patchIssues(current, { source_config: { custom_url: 'http://elsewhere' } })).toEqual([
      'body.source_config.custom_url not_applicable',
    ]);
  });

  it.each([
    // the deployment's ref and build_on_push, the patch's, right
    ['main', true, 'refs/tags/v1', undefined, false],
    ['main', true, 'refs/tags/v1', false, true],
    ['main', false, 'refs/tags/v1', undefined, true],
    ['main', undefined, 'refs/tags/v1', undefined, false],
    ['refs/tags/v1', false, undefined, true, false],
    ['refs/tags/v1', false, 'main', true, true],
    ['refs/tags/v1', false, undefined, undefined, true],
    ['main', true, undefined, undefined, true],
  ])('from %s, %s by %s, %s keeps the rule for tags: %s', (ref, push, newRef, newPush, right) => {
    const current = deployment('repo_host', {
      'source_revision_config.repo_ref': ref,
      'source_config.build_on_push': push,
    });
    const patch = { source_revision_config: { repo_ref: newRef }, source_config: { build_on_push: newPush } };
    expect(patchIssues(current, patch)).toEqual(
      right ? [] : ['body.source_config.build_on_push tag_builds_on_push'],
    );
  });

  it('leaves a source that nobody has named to the service', () => {
    expect(
      patchIssues(deployment('source_of_tomorrow'), { source_revision_config: { image_uri: 'x' } }),
    ).toEqual([]);
  });
});

describe('Contract 000, Revision-creating updates', () => {
  const CREATING: [string, unknown][] = [
    ['source_revision_config.repo_ref', 'main'],
    ['source_revision_config.graph_config_path', 'graph.json'],
    ['source_revision_config.image_uri', 'registry.example/agent:1'],
    ['source_revision_config.source_tarball_path', 'uploads/1.tar.gz'],
    ['secrets', [{ name: 'A', value: 'b' }]],
    ['secrets', []],
    ['source_config.resource_spec', {}],
  ];
  const NOT_CREATING: [string, unknown][] = [
    ['name', 'agent'],
    ['source_config.build_on_push', false],
    ['source_config.custom_url', 'http://a'],
    ['source_config.install_command', 'npm ci'],
    ['source_config.build_command', 'make'],
    ['source_config.listener_config', { cluster_namespace: 'a' }],
    ['secret_references', [{ name: 'A', secret_name: 's', secret_key: 'k' }]],
    ['image_version', '1'],
  ];

  it.each(CREATING)('are %s = %j', (path, value) => {
    expect(createsRevision(DeploymentPatch.parse(withValue({}, path, value)))).toBe(true);
  });

  it.each(CREATING)('are not %s as null', (path) => {
    expect(createsRevision(DeploymentPatch.parse(withValue({}, path, null)))).toBe(false);
  });

  it.each(NOT_CREATING)('are not %s', (path, value) => {
    expect(createsRevision(DeploymentPatch.parse(withValue({}, path, value)))).toBe(false);
  });

  it('are exactly these', () => {
    expect(REVISION_CREATING.map((path) => path.join('.')).sort()).toEqual(
      [...new Set(CREATING.map(([path]) => path))].sort(),
    );
  });
});

describe('The queries of deployments (public relative)', () => {
  it('list 20 from the beginning', () => {
    expect(DeploymentsQuery.parse({})).toEqual({ limit: 20, offset: 0 });
    expect(
      DeploymentsQuery.parse({ limit: '100', offset: '7', name_contains: 'a', status: 'READY' }),
    ).toEqual({
      limit: 100,
      offset: 7,
      name_contains: 'a',
      status: 'READY',
    });
  });

  it.each([
    ['limit', '0'],
    ['limit', '101'],
    ['limit', 'x'],
    ['offset', '-1'],
  ])('bound %s: not %s', (field, value) => {
    expect(placesOf(DeploymentsQuery, { [field]: value }, 'query')).toEqual([`query.${field}`]);
  });

  it('keep the tracing project of a deleted deployment unless asked', () => {
    expect(DeploymentDeleteQuery.parse({})).toEqual({ delete_tracing_project: false });
    expect(DeploymentDeleteQuery.parse({ delete_tracing_project: 'true' })).toEqual({
      delete_tracing_project: true,
    });
  });
});
