import { expect, it } from 'vitest';

import { configDifferences } from '../../../src/domain/promotion/configDifferences.ts';

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

it('two targets of the same configuration differ in nothing', () => {
  expect(configDifferences(CANARY, structuredClone(CANARY))).toEqual([]);
});

it('each difference is told with both sides; of a secret its reference', () => {
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
    'soak: 0 → 60000',
    'build_command: not set → make',
    'install_command: npm ci → not set',
    'secret EXTRA: not set → file:/extra',
    'secret MODEL_KEY: env:CANARY_MODEL_KEY → env:MODEL_KEY',
  ]);
});
