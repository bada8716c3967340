import { describe, expect, it } from 'vitest';

import { requestKey, type RequestIdentity } from '../../../../src/cli/commands/release/releaseRequest.ts';

const IDENTITY: RequestIdentity = {
  artifact: { kind: 'tarball', digest: 'sha256:aa', sizeBytes: 10, store: 'file:///one' },
  target: {
    name: 'production',
    controlPlane: 'https://control.example',
    apiKey: { from: 'env:KEY' },
    deployment: 'greeter',
    source: 'internal_source',
    sourceConfig: { install_command: 'npm ci', build_command: 'npm run build' },
  },
  graphConfigPath: 'graph.json',
  checks: [
    { name: 'greets', assistant: 'greeter', input: { a: 1 }, expect: { contains: 'Hello' }, timeoutMs: 1 },
  ],
  steps: {},
  soakMs: 0,
  commit: 'abc',
};

describe('the request key', () => {
  it('is a sha256 digest', () => {
    expect(requestKey(IDENTITY)).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  it('is the same with any order of the fields, any store, and any name of the target', () => {
    const reordered: RequestIdentity = {
      ...IDENTITY,
      artifact: { kind: 'tarball', store: 'file:///two', sizeBytes: 10, digest: 'sha256:aa' },
      target: {
        ...IDENTITY.target,
        name: 'live',
        sourceConfig: { build_command: 'npm run build', install_command: 'npm ci' },
      },
    };
    expect(requestKey(reordered)).toBe(requestKey(IDENTITY));
  });

  it.each<[string, Partial<RequestIdentity>]>([
    [
      'the artifact',
      { artifact: { kind: 'tarball', digest: 'sha256:bb', sizeBytes: 10, store: 'file:///one' } },
    ],
    ['the kind of the artifact', { artifact: { kind: 'image', uri: 'sha256:aa' } }],
    ['the commit', { commit: 'abd' }],
    ['the checks', { checks: [] }],
    ['the order of the checks', { checks: [...IDENTITY.checks, { ...IDENTITY.checks[0]!, name: 'first' }] }],
    ['the steps', { steps: { patch: { startToCloseMs: 1 } } }],
    ['the soak', { soakMs: 1 }],
    ['the graph configuration', { graphConfigPath: null }],
    ['the budget of the checks', { checksBudget: { runs: 1 } }],
    ['the approval', { approval: { required: 1, withinMs: 1 } }],
    ['the guard', { guard: { forMs: 1, everyMs: 1, afterMs: 1, noData: 'continue', metrics: [] } }],
    ['what happens on an error', { onError: { then: 'stop', waitMs: 0 } }],
    ['the secrets', { target: { ...IDENTITY.target, secrets: [{ name: 'A', from: 'env:A' }] } }],
  ])('changes with %s', (_what, change) => {
    expect(requestKey({ ...IDENTITY, ...change })).not.toBe(requestKey(IDENTITY));
  });
});
