import { describe, expect, it } from 'vitest';

import { BuildLogs, BuildLogsRequest } from '../../src/controlPlane/logs.ts';
import { IntegrationInstalls } from '../../src/controlPlane/integration.ts';
import {
  Listener,
  ListenerConfig,
  ListenersList,
  validateListenerConfig,
} from '../../src/controlPlane/listener.ts';
import { Revision, RevisionsQuery } from '../../src/controlPlane/revision.ts';
import { Secret, SecretReference, SecretReferences, Secrets } from '../../src/controlPlane/deployment.ts';
import { SourceConfig, SourceRevisionConfig } from '../../src/controlPlane/source.ts';
import { UploadUrl } from '../../src/controlPlane/uploadUrl.ts';
import { SECRET_VALUE_MAX_BYTES } from '../../src/limits.ts';
import { expectAccepted, expectRefused, placesOf } from '../checking.ts';
import { ID } from './requests.ts';

describe('Contract 000, SourceConfig', () => {
  it.each([
    ['repo_url', 'https://git.example/a', ''],
    ['deployment_type', 'dev_free', 'staging'],
    ['custom_url', 'https://a.example', 'a.example'],
    ['resource_spec', { cpu: 1 }, { cpu: 9 }],
    ['listener_config', { cluster_namespace: 'a' }, { cluster_namespace: 'A' }],
    ['install_command', 'npm ci', ''],
    ['build_command', 'npm run build', ''],
  ])('%s may be null or %j, but not %j', (field, right, wrong) => {
    expectAccepted(SourceConfig, { [field]: null });
    expectAccepted(SourceConfig, { [field]: right });
    expect(placesOf(SourceConfig, { [field]: wrong })[0]).toMatch(new RegExp(`^body\\.${field}`, 'u'));
  });
});

describe('Contract 000, SourceRevisionConfig', () => {
  it.each([
    ['repo_ref', 'main'],
    ['repo_ref', 'refs/tags/v1.0.0'],
    ['graph_config_path', 'a/graph.json'],
    ['image_uri', 'registry.example:5000/a/b@sha256:0'],
    ['source_tarball_path', 'uploads/1.tar.gz'],
  ])('%s may be null or %j, but not empty', (field, right) => {
    expectAccepted(SourceRevisionConfig, { [field]: null });
    expectAccepted(SourceRevisionConfig, { [field]: right });
    expect(placesOf(SourceRevisionConfig, { [field]: '' })).toEqual([`body.${field}`]);
  });

  it('requires a name for a tag', () => {
    expectRefused(SourceRevisionConfig, { repo_ref: 'refs/tags/' }, 'body.repo_ref');
  });

  it('ignores repo_commit_sha, which is read-only', () => {
    expect(SourceRevisionConfig.parse({ repo_commit_sha: 7 })).toEqual({});
  });
});

describe('Contract 000, Secret and SecretReference', () => {
  it('requires name and value', () => {
    expect(placesOf(Secret, {})).toEqual(['body.name', 'body.value']);
    expectAccepted(Secret, { name: 'A', value: '' });
    expectRefused(Secret, { name: 'A=B', value: '' }, 'body.name');
  });

  it('requires a value that an environment variable can hold', () => {
    expectAccepted(Secret, { name: 'A', value: '-----BEGIN\nline\n🚀' });
    expectAccepted(Secret, { name: 'A', value: 'x'.repeat(SECRET_VALUE_MAX_BYTES) });
    expectRefused(Secret, { name: 'A', value: 'ü'.repeat(SECRET_VALUE_MAX_BYTES / 2 + 1) }, 'body.value');
    expectRefused(Secret, { name: 'A', value: 'a\0b' }, 'body.value');
  });

  it.each([
    ['secrets', Secrets, { name: 'A', value: 'x' }],
    ['references', SecretReferences, { name: 'A', secret_name: 's', secret_key: 'k' }],
  ])('rejects duplicate names in a list of %s', (_what, schema, entry) => {
    expectAccepted(schema, []);
    expectAccepted(schema, [entry, { ...entry, name: 'B' }]);
    expectRefused(schema, [entry, { ...entry, name: 'B' }, entry], 'body.2.name', 'duplicate');
  });

  it('requires name, secret_name and secret_key of a reference', () => {
    expect(placesOf(SecretReference, {})).toEqual(['body.name', 'body.secret_name', 'body.secret_key']);
  });
});

describe('Contract 000, Revision', () => {
  it('requires only an id and a status, and accepts unknown statuses', () => {
    expectAccepted(Revision, { id: ID, status: 'A_STATUS_OF_TOMORROW', more: 1 });
    expect(placesOf(Revision, {})).toEqual(['body.id', 'body.status']);
  });

  it('is filtered by statuses, separated by commas', () => {
    expect(RevisionsQuery.parse({})).toEqual({ limit: 20, offset: 0 });
    expect(RevisionsQuery.parse({ status: 'DEPLOYED, QUEUED,' }).status).toEqual(['DEPLOYED', 'QUEUED']);
  });
});

describe('Contract 000, Listener and ListenerConfig', () => {
  const listener = Listener.parse({ id: ID, compute_type: 'cluster', more: 1 });
  const config = { cluster_namespace: 'agents' };

  it('has an identifier and a compute type', () => {
    expect(placesOf(Listener, {})).toEqual(['body.id', 'body.compute_type']);
    expectAccepted(ListenersList, { resources: [listener], offset: 1 });
  });

  it('has a namespace that is a DNS label, nullable and optional', () => {
    for (const value of [{}, { cluster_namespace: null }, config]) expectAccepted(ListenerConfig, value);
    expectRefused(ListenerConfig, { cluster_namespace: 'Agents' }, 'body.cluster_namespace');
  });

  it('is validated by the compute type of its listener', () => {
    const place = 'body.source_config.listener_config.cluster_namespace';
    const check = (changes: object): string[] =>
      validateListenerConfig(config, { ...listener, ...changes }).map(
        ({ loc, type }) => `${loc.join('.')} ${type}`,
      );
    expect(check({})).toEqual([]);
    expect(check({ compute_config: { cluster_namespaces: ['agents', 'others'] } })).toEqual([]);
    expect(check({ compute_config: { cluster_namespaces: ['others'] } })).toEqual([
      `${place} namespace_unknown`,
    ]);
    expect(check({ compute_type: 'vm' })).toEqual([`${place} not_applicable`]);
    expect(validateListenerConfig({}, { ...listener, compute_type: 'vm' })).toEqual([]);
  });
});

describe('Contract 000, other endpoints', () => {
  it('return integrations with the id that a source_config uses', () => {
    expectAccepted(IntegrationInstalls, [{ id: ID, installation_id: 7, name: 'account', more: 1 }]);
    expectRefused(IntegrationInstalls, [{}], 'body.0.id', 'missing');
  });

  it.each([
    [{ upload_url: 'https://store.example/a?b=c', object_path: 'a' }, []],
    [{ upload_url: 'https://a', object_path: 'a', upload_headers: { 'x-a': 'b' }, more: 1 }, []],
    [{ upload_url: 'https://a', object_path: 'a', upload_headers: null }, []],
    [{ upload_url: '/relative', object_path: 'a' }, ['body.upload_url']],
    [{ upload_url: 'file:///etc/passwd', object_path: 'a' }, ['body.upload_url']],
    [{ upload_url: 'https://a', object_path: '' }, ['body.object_path']],
    [{ upload_url: 'https://a', object_path: 'a', upload_headers: { a: 1 } }, ['body.upload_headers.a']],
    [{}, ['body.upload_url', 'body.object_path']],
  ])('return an upload URL with its object path: %j', (value, places) => {
    expect(placesOf(UploadUrl, value)).toEqual(places);
  });

  it('return build logs in pages', () => {
    expect(BuildLogsRequest.parse({})).toEqual({ order: 'asc', limit: 100 });
    expect(placesOf(BuildLogsRequest, { order: 'up', limit: 0, offset: -1 })).toEqual([
      'body.order',
      'body.limit',
      'body.offset',
    ]);
    expect(
      BuildLogs.parse({ logs: ['bare', { message: 'm', level: 'info' }], next_offset: 'x' }).logs,
    ).toEqual([{ message: 'bare' }, { message: 'm', level: 'info' }]);
  });
});
