import { describe, expect, it } from 'vitest';

import { configDifferences, fieldDifferences } from '../../../src/domain/release/fieldDifferences.ts';

describe('the differences of two configurations', () => {
  it('are none if they are equal, in any order', () => {
    expect(fieldDifferences({ a: 1, b: { c: [1, 2] } }, { b: { c: [1, 2] }, a: 1 })).toEqual([]);
  });

  it('have the paths of the fields, and both sides', () => {
    const from = { soakMs: 0, target: { source: 'internal_source' }, onError: { then: 'stop' } };
    const to = { soakMs: 60_000, target: { source: 'internal_source', agentUrl: 'http://a' } };
    expect(fieldDifferences(from, to)).toEqual([
      { path: 'onError.then', from: 'stop', to: undefined },
      { path: 'soakMs', from: 0, to: 60_000 },
      { path: 'target.agentUrl', from: undefined, to: 'http://a' },
    ]);
  });

  it('identify list items by name, at any position', () => {
    const from = { checks: [{ name: 'greets', timeoutMs: 1 }] };
    const to = {
      checks: [
        { name: 'uses its tool', timeoutMs: 5 },
        { name: 'greets', timeoutMs: 2 },
      ],
    };
    expect(fieldDifferences(from, to)).toEqual(
      [
        { path: 'checks.greets.name', from: 'greets', to: 'greets' },
        { path: 'checks.greets.timeoutMs', from: 1, to: 2 },
        { path: 'checks.uses its tool.name', from: undefined, to: 'uses its tool' },
        { path: 'checks.uses its tool.timeoutMs', from: undefined, to: 5 },
      ].filter(({ from: one, to: other }) => one !== other),
    );
  });

  it('compare a list of values, and one with duplicate names, as a whole', () => {
    const twice = [
      { name: 'a', v: 1 },
      { name: 'a', v: 2 },
    ];
    expect(fieldDifferences({ list: [1, 2], twice }, { list: [1, 3], twice: [] })).toEqual([
      { path: 'list', from: [1, 2], to: [1, 3] },
      { path: 'twice', from: twice, to: [] },
    ]);
  });
});

const CANARY = {
  target: {
    controlPlane: 'http://control.test',
    source: 'internal_source',
    sourceConfig: { install_command: 'npm ci' },
    secrets: [{ name: 'MODEL_KEY', from: 'env:CANARY_MODEL_KEY' }],
  },
  graphConfigPath: 'graph.json',
  soakMs: 0,
} as const;

it('show each difference with both sides, and references instead of secrets', () => {
  const production = {
    ...CANARY,
    soakMs: 60_000,
    target: {
      ...CANARY.target,
      sourceConfig: { build_command: 'make' },
      secrets: [
        { name: 'MODEL_KEY', from: 'env:MODEL_KEY' },
        { name: 'EXTRA', from: 'file:/extra' },
      ],
    },
  };
  expect(configDifferences(CANARY, production)).toEqual([
    'build_command: not set → make',
    'install_command: npm ci → not set',
    'secret EXTRA: not set → file:/extra',
    'secret MODEL_KEY: env:CANARY_MODEL_KEY → env:MODEL_KEY',
    'soak: 0ms → 1m00s',
  ]);
});
