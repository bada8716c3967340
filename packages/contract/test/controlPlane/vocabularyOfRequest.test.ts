import { describe, expect, it } from 'vitest';

import {
  mixedVocabularyIssues,
  contractNameIssues,
  vocabularyOfRequest,
} from '../../src/controlPlane/vocabulary.ts';

const PUBLIC_COMMAND_CREATES = {
  name: 'agent',
  source: 'internal_source',
  source_config: { deployment_type: 'dev' },
  source_revision_config: {},
};

describe('the vocabulary of a request', () => {
  it.each([
    ['its source', { source: 'repo_host' }],
    [
      'its config path',
      { source: 'internal_source', source_revision_config: { graph_config_path: 'a.json' } },
    ],
    [
      'its config path, whatever the file is called',
      { source_revision_config: { graph_config_path: 'langgraph.json' } },
    ],
    ['a config path of null', { source_revision_config: { graph_config_path: null } }],
    ['a resource', { source_config: { resource_spec: { cache_cpu: 1 } } }],
    ['a compute type', { compute_type: 'cluster' }],
  ])('is the contract’s, by %s', (_, request) => expect(vocabularyOfRequest(request)).toBe('contract'));

  it.each([
    ['its source', { source: 'github' }],
    ['its config path', { source_revision_config: { langgraph_config_path: 'graph.json' } }],
    ['a resource', { source_config: { resource_spec: { redis_cpu: 1 } } }],
    ['a namespace', { source_config: { listener_config: { k8s_namespace: 'a' } } }],
    ['a revision source', { revision_source: 'internal_source' }],
    ['a deployment type that only it has', { source_config: { deployment_type: 'serverless' } }],
    ['the shape in which the public command creates', PUBLIC_COMMAND_CREATES],
  ])('is the public one, by %s', (_, request) => expect(vocabularyOfRequest(request)).toBe('public'));

  it.each([
    ['a source of both', { source: 'internal_source', source_config: {}, source_revision_config: {} }],
    [
      'words in free-form places',
      { secrets: [{ name: 'github', value: 'redis_cpu' }], name: 'langgraph.json' },
    ],
    [
      'a deployment type beside something to build',
      { ...PUBLIC_COMMAND_CREATES, source_revision_config: { image_uri: 'a' } },
    ],
    ['no object', ['github']],
    ['nothing', undefined],
  ])('is unknown, by %s', (_, request) => expect(vocabularyOfRequest(request)).toBeUndefined());
});

describe('a request in both vocabularies', () => {
  it('is rejected with the place of the public name and of the contract’s name beside it', () => {
    const request = {
      source: 'repo_host',
      source_revision_config: { langgraph_config_path: 'langgraph.json' },
    };
    expect(mixedVocabularyIssues(request)).toEqual([
      {
        loc: ['body', 'source_revision_config', 'langgraph_config_path'],
        msg: expect.stringMatching(/langgraph_config_path .* repo_host/u),
        type: 'vocabulary_mixed',
      },
    ]);
    expect(mixedVocabularyIssues(PUBLIC_COMMAND_CREATES)).toEqual([]);
    expect(mixedVocabularyIssues(undefined)).toEqual([]);
  });

  it('is rejected by a service that accepts only the public one', () => {
    expect(contractNameIssues({ source: 'repo_host' }).map(({ loc, type }) => [loc.join('.'), type])).toEqual(
      [['body.source', 'vocabulary_unknown']],
    );
    expect(contractNameIssues({ source: 'github' })).toEqual([]);
  });
});
