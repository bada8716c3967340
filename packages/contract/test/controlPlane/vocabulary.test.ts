import { describe, expect, it } from 'vitest';

import { translateResource, translateIssues, VOCABULARY } from '../../src/controlPlane/vocabulary.ts';
import { publicAnswerProblems, publicRequestProblems } from './publicDocument.ts';
import { ID } from './requests.ts';

/** Every renamed field of the table in the contract's names, and free-form fields with the same words. */
const CREATE = {
  name: 'repo_host',
  source: 'external_image',
  source_config: {
    listener_id: ID,
    listener_config: { cluster_namespace: 'cluster_namespace' },
    resource_spec: {
      cpu: 1,
      cache_cpu: 0.5,
      cache_cpu_limit: 1,
      cache_memory_mb: 64,
      cache_memory_limit_mb: 128,
      labels: { cache_cpu: 'redis_cpu', source: 'repo_host' },
      annotations: { graph_config_path: 'graph.json' },
    },
  },
  source_revision_config: { graph_config_path: null, image_uri: 'external_image' },
  secrets: [{ name: 'cache_cpu', value: 'repo_host' }],
};

const PUBLIC_CREATE = {
  name: 'repo_host',
  source: 'external_docker',
  source_config: {
    listener_id: ID,
    listener_config: { k8s_namespace: 'cluster_namespace' },
    resource_spec: {
      cpu: 1,
      redis_cpu: 0.5,
      redis_cpu_limit: 1,
      redis_memory_mb: 64,
      redis_memory_limit_mb: 128,
      labels: { cache_cpu: 'redis_cpu', source: 'repo_host' },
      annotations: { graph_config_path: 'graph.json' },
    },
  },
  source_revision_config: { langgraph_config_path: null, image_uri: 'external_image' },
  secrets: [{ name: 'cache_cpu', value: 'repo_host' }],
};

const LISTENER = {
  id: ID,
  compute_type: 'cluster',
  compute_id: 'cluster',
  compute_config: { cluster_namespaces: ['cluster'] },
  created_at: '2026-11-21T10:00:00Z',
  updated_at: '2026-11-21T10:00:00Z',
};

describe('the two vocabularies', () => {
  it('are translated only at the places of the table', () => {
    expect(translateResource(CREATE, 'public')).toEqual(PUBLIC_CREATE);
    expect(translateResource(PUBLIC_CREATE, 'contract')).toEqual(CREATE);
  });

  it('survive a translation and back, with the order of the fields', () => {
    expect(JSON.stringify(translateResource(translateResource(CREATE, 'public'), 'contract'))).toBe(
      JSON.stringify(CREATE),
    );
  });

  it('use public names in the public document', () => {
    expect(publicRequestProblems('POST', '/v2/deployments', PUBLIC_CREATE)).toEqual([]);
    expect(publicRequestProblems('POST', '/v2/deployments', CREATE)).not.toEqual([]);
    const listeners = translateResource({ resources: [LISTENER], offset: 1 }, 'public');
    expect(publicAnswerProblems('GET', '/v2/listeners', 200, listeners)).toEqual([]);
    expect(
      publicAnswerProblems('GET', '/v2/listeners', 200, { resources: [LISTENER], offset: 1 }),
    ).not.toEqual([]);
  });

  it.each(VOCABULARY.values.filter(({ place }) => place[0] === 'source'))(
    'translate source $contract to $public',
    (row) => {
      expect(translateResource({ source: row.contract }, 'public')).toEqual({ source: row.public });
      expect(translateResource({ source: row.public }, 'contract')).toEqual({ source: row.contract });
    },
  );

  it('leave documents of another shape unchanged', () => {
    for (const odd of [
      null,
      'repo_host',
      ['repo_host'],
      3,
      { source_config: 'x', source_revision_config: [1] },
    ]) {
      expect(translateResource(odd, 'public')).toEqual(odd);
    }
  });

  it('report problems of a request in the request’s own names', () => {
    const issues = [
      {
        loc: ['body', 'source_config', 'resource_spec', 'cache_cpu'],
        msg: 'Input should be less than or equal to 8',
        type: 'less_than_equal',
      },
      {
        loc: ['body', 'source_config', 'listener_id'],
        msg: 'Required by source_config.listener_config.cluster_namespace',
        type: 'missing',
      },
      { loc: ['body', 'secrets', 0, 'name'], msg: 'Only for source repo_host', type: 'not_applicable' },
    ];
    expect(translateIssues(issues, 'public').map(({ loc, msg }) => [loc.join('.'), msg])).toEqual([
      ['body.source_config.resource_spec.redis_cpu', 'Input should be less than or equal to 8'],
      ['body.source_config.listener_id', 'Required by source_config.listener_config.k8s_namespace'],
      ['body.secrets.0.name', 'Only for source github'],
    ]);
  });
});
