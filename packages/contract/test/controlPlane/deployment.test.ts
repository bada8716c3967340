import { describe, expect, it } from 'vitest';

import {
  Deployment,
  DeploymentCreate,
  DeploymentDeleteQuery,
  DeploymentsDeleteQuery,
  DeploymentsList,
  DeploymentsQuery,
} from '../../src/controlPlane/deployment.ts';
import { expectAccepted, expectRefused, placesOf } from '../checking.ts';
import { BY_SOURCE, CREATES, deployment, createWith, ID, SOURCES, withValue } from './requests.ts';

describe('Contract 000, Deployment: the answer', () => {
  const answer = deployment('internal_source');

  it('requires the non-nullable fields, and allows null in all others', () => {
    expect(placesOf(Deployment, {})).toEqual(
      [
        ...['id', 'tenant_id', 'name', 'source', 'source_config', 'source_revision_config', 'secrets'],
        ...['created_at', 'updated_at', 'status', 'latest_revision_id', 'active_revision_id'],
      ].map((field) => `body.${field}`),
    );
    const nulls = { latest_revision_id: null, secret_references: null, image_version: null };
    expectAccepted(Deployment, { ...answer, ...nulls });
  });

  it('keeps unknown fields and values', () => {
    const more = { ...answer, status: 'NEW', source: 'new', more: 1, source_config: { more: { deep: 2 } } };
    expect(Deployment.parse(more)).toEqual(more);
  });

  it('may omit the values of secrets', () => {
    expectAccepted(Deployment, { ...answer, secrets: [{ name: 'A' }, { name: 'B', value: null }] });
  });

  it('is listed in pages, with the offset of the next page', () => {
    expectAccepted(DeploymentsList, { resources: [answer], offset: 1 });
    expectRefused(DeploymentsList, { resources: [answer] }, 'body.offset', 'missing');
  });
});

describe('Contract 000, Deployment: create', () => {
  it('requires five fields', () => {
    const required = ['name', 'source', 'source_config', 'source_revision_config', 'secrets'];
    expect(placesOf(DeploymentCreate, {})).toEqual(required.map((field) => `body.${field}`));
  });

  it('has a name of one line and at most 128 characters', () => {
    expectAccepted(DeploymentCreate, createWith('internal_source', 'name', 'x'.repeat(128)));
    for (const name of ['x'.repeat(129), 'a\nb']) {
      expectRefused(DeploymentCreate, createWith('internal_source', 'name', name), 'body.name');
    }
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

  it.each(SOURCES.flatMap((source) => BY_SOURCE.map(([path, ...rest]) => [source, path, ...rest] as const)))(
    'for source %s requires or rejects fields: %s',
    (source, path, sources, value) => {
      const request = createWith(source, path, value);
      if (sources.includes(source)) expectAccepted(DeploymentCreate, request);
      else expectRefused(DeploymentCreate, request, `body.${path}`, 'not_applicable');
    },
  );

  it.each(SOURCES.flatMap((source) => BY_SOURCE.map(([path]) => [source, path] as const)))(
    'for source %s treats null as absent: %s, unless the field is required',
    (source, path) => {
      const required =
        path.endsWith('graph_config_path') && ['repo_host', 'internal_source'].includes(source);
      expect(placesOf(DeploymentCreate, createWith(source, path, null))).toEqual(
        required ? [`body.${path}`] : [],
      );
    },
  );

  it('treats an empty list of references as absent', () => {
    expectAccepted(DeploymentCreate, createWith('internal_source', 'secret_references', []));
  });

  it.each(['repo_host', 'internal_source'] as const)('requires graph_config_path for %s', (source) => {
    const place = 'source_revision_config.graph_config_path';
    expectRefused(DeploymentCreate, createWith(source, place, undefined), `body.${place}`, 'missing');
  });

  it('has a graph_config_path inside the source tree', () => {
    const place = 'source_revision_config.graph_config_path';
    const request = createWith('internal_source', place, '../graph.json');
    expectRefused(DeploymentCreate, request, `body.${place}`);
  });

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
  ])('requires a branch as a bare name: %j', (ref, right) => {
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
  ])('with ref %s and build_on_push %s is valid: %s', (ref, push, right) => {
    const request = withValue(
      createWith('repo_host', 'source_revision_config.repo_ref', ref),
      'source_config.build_on_push',
      push,
    );
    if (right) expectAccepted(DeploymentCreate, request);
    else expectRefused(DeploymentCreate, request, 'body.source_config.build_on_push', 'tag_builds_on_push');
  });

  it('requires a listener for a namespace, and validates it by the listener', () => {
    const request = createWith('external_image', 'source_config.listener_config', {
      cluster_namespace: 'agents',
    });
    expectRefused(DeploymentCreate, request, 'body.source_config.listener_id', 'missing');
    expectAccepted(DeploymentCreate, withValue(request, 'source_config.listener_id', ID));
  });

  it('reports every broken rule in one answer', () => {
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

describe('The queries of deployments (public API)', () => {
  it('return 20 from the first one by default', () => {
    expect(DeploymentsQuery.parse({})).toEqual({ limit: 20, offset: 0 });
    expect(
      DeploymentsQuery.parse({ limit: '100', offset: '7', name_contains: 'a', status: 'READY' }),
    ).toEqual({ limit: 100, offset: 7, name_contains: 'a', status: 'READY' });
  });

  it('accept ids separated by commas or repeated, in either case', () => {
    const [one, other] = ['0B9E2F7C-7d5e-4f4e-8a53-111111111111', '0b9e2f7c-7d5e-4f4e-8a53-222222222222'];
    const ids = [one.toLowerCase(), other];
    expect(DeploymentsQuery.parse({ deployment_ids: `${one}, ${other},` }).deployment_ids).toEqual(ids);
    expect(DeploymentsQuery.parse({ deployment_ids: '' }).deployment_ids).toEqual([]);
    expect(DeploymentsDeleteQuery.parse({ deployment_ids: [one, other] }).deployment_ids).toEqual(ids);
    expect(placesOf(DeploymentsDeleteQuery, { deployment_ids: `${one},x` }, 'query')).toEqual([
      'query.deployment_ids.1',
    ]);
    expect(placesOf(DeploymentsDeleteQuery, { deployment_ids: ',' }, 'query')).toEqual([
      'query.deployment_ids',
    ]);
    expect(placesOf(DeploymentsQuery, { deployment_type: 'large' }, 'query')).toEqual([
      'query.deployment_type',
    ]);
  });

  it('match all if they are empty', () => {
    const empty = { deployment_type: '', remote_reconciled: '' };
    expect(DeploymentsQuery.parse(empty)).toEqual({ limit: 20, offset: 0 });
  });

  it('keep the tracing project of a deleted deployment by default', () => {
    expect(DeploymentDeleteQuery.parse({})).toEqual({ delete_tracing_project: false });
    expect(DeploymentDeleteQuery.parse({ delete_tracing_project: 'true' })).toEqual({
      delete_tracing_project: true,
    });
  });
});
