import { describe, expect, it } from 'vitest';

import {
  createsRevision,
  type Deployment,
  DeploymentPatch,
  validatePatch,
} from '../../src/controlPlane/deployment.ts';
import { BY_SOURCE, deployment, ID, OTHER_ID, SOURCES, withValue } from './requests.ts';

function patchIssues(current: Deployment, patch: unknown): string[] {
  return validatePatch(current, DeploymentPatch.parse(patch)).map(
    ({ loc, type }) => `${loc.join('.')} ${type}`,
  );
}

describe('Contract 000, Deployment: patch', () => {
  it('may be empty, or null', () => {
    for (const field of ['', ...Object.keys(DeploymentPatch.shape)]) {
      expect(patchIssues(deployment('internal_source'), { [field]: null })).toEqual([]);
    }
  });

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
    // Immutable even if the field was empty.
    if (path.includes('.')) {
      expect(patchIssues(deployment(source), withValue({}, path, another))).toEqual([
        `body.${path} immutable`,
      ]);
    }
  });

  it.each(SOURCES.flatMap((source) => BY_SOURCE.map(([path, ...rest]) => [source, path, ...rest] as const)))(
    'of source %s allows or rejects fields: %s',
    (source, path, sources, value) => {
      const issues = patchIssues(deployment(source), withValue({}, path, value));
      const immutable = /integration_id|repo_url|deployment_type|listener_id/u.test(path);
      if (!sources.includes(source)) expect(issues).toEqual([`body.${path} not_applicable`]);
      else expect(issues).toEqual(immutable ? [`body.${path} immutable`] : []);
    },
  );

  it('accepts a document that was read back', () => {
    const current = deployment('internal_source', {
      'source_config.custom_url': 'http://127.0.0.1/agents/x',
    });
    expect(patchIssues(current, current)).toEqual([]);
    expect(patchIssues(current, { source_config: { custom_url: 'http://elsewhere' } })).toEqual([
      'body.source_config.custom_url not_applicable',
    ]);
  });

  it.each([
    // the deployment's ref and build_on_push, the patch's, whether it is valid
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

  it('lets the service validate an unknown source', () => {
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
    expect(createsRevision(DeploymentPatch.parse(withValue({}, path, null)))).toBe(false);
  });

  it.each(NOT_CREATING)('do not include %s', (path, value) => {
    expect(createsRevision(DeploymentPatch.parse(withValue({}, path, value)))).toBe(false);
  });
});
