import { describe, expect, it } from 'vitest';

import type { ReleaseRequest } from '../../../src/domain/release/release.ts';
import { releaseRequestProblem } from '../../../src/domain/release/requestProblem.ts';

const REQUEST: ReleaseRequest = {
  requestKey: 'key',
  target: {
    name: 'production',
    controlPlane: 'https://control.test',
    apiKey: { from: 'env:KEY' },
    deployment: 'agent',
    source: 'internal_source',
    sourceConfig: {},
    secrets: [{ name: 'TOKEN', from: 'env:TOKEN' }],
  },
  artifact: { kind: 'tarball', digest: `sha256:${'0'.repeat(64)}`, sizeBytes: 1, store: 'file:///store' },
  graphConfigPath: 'graph.json',
  checks: [{ name: 'greets', assistant: 'agent', input: {}, expect: {}, timeoutMs: 1_000 }],
  steps: { patch: { scheduleToCloseMs: 1_000, retry: { maximumAttempts: 0, backoffCoefficient: 1.5 } } },
  soakMs: 0,
  queue: 'latest',
  recordStore: 'file:///records',
  requestedBy: { who: 'ada', from: 'ci' },
};

const FREEZE = { name: 'weekend', timeZone: 'UTC', from: 'Fri 16:00', until: 'Mon 08:00', then: 'wait' };

/** The request with one field, at a dot path, replaced; `undefined` removes it. */
function changed(path: string, value: unknown): unknown {
  const copy = structuredClone(REQUEST) as unknown as Record<string, unknown>;
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  let at = copy;
  for (const key of keys) at = (at[key] ??= {}) as Record<string, unknown>;
  if (value === undefined) Reflect.deleteProperty(at, last);
  else at[last] = value;
  return copy;
}

describe('a request for a release', () => {
  it.each<[string, unknown]>([
    ['as the command sends it', REQUEST],
    ['of an image', changed('artifact', { kind: 'image', uri: 'registry.test/agent:1' })],
    ['of a git ref', changed('artifact', { kind: 'git', ref: 'main' })],
    ['without a graph', changed('graphConfigPath', null)],
    ['with a commit', changed('commit', 'c0ffee')],
    ['over a hold', changed('overrideHold', true)],
    ['over a freeze', changed('overrideFreeze', true)],
    ['with freezes', changed('freezes', [FREEZE])],
    ['without checks', changed('checks', [])],
    ['without secrets', changed('target.secrets', undefined)],
    ['to the public service', changed('target.vocabulary', 'public')],
  ])('is taken %s', (_, request) => {
    expect(releaseRequestProblem(request)).toBeUndefined();
  });

  it.each([undefined, null, 7, 'request', [], [REQUEST]])('that is %j is refused', (garbage) => {
    expect(releaseRequestProblem(garbage)).toBe('the request is not an object');
  });

  it.each([
    'requestKey',
    'target.name',
    'target.controlPlane',
    'target.deployment',
    'target.source',
    'target.apiKey.from',
    'artifact.kind',
    'artifact.digest',
    'artifact.store',
    'recordStore',
    'requestedBy.who',
    'requestedBy.from',
  ])('without a text for "%s" is refused', (path) => {
    for (const value of [undefined, null, 7, {}, [], '', 'x'.repeat(1_001)]) {
      expect(releaseRequestProblem(changed(path, value))).toContain(`"${path}"`);
    }
  });

  it.each<[string, readonly unknown[]]>([
    ['artifact.kind', ['wheel', 'constructor']],
    ['artifact.sizeBytes', [undefined, '1', -1, NaN]],
    ['target.source', ['elsewhere']],
    ['target.secrets', ['x', [{ name: 'TOKEN', value: 'secret' }], {}]],
    ['target.sourceConfig', [undefined, null, 'x', []]],
    ['target.deploymentId', [7, '']],
    ['commit', [7, 'c'.repeat(1_001)]],
    [
      'checks',
      [undefined, {}, [null], [{ name: 'x' }], Array.from({ length: 101 }, () => REQUEST.checks[0])],
    ],
    ['steps', [undefined, null, [], 'x']],
    ['pauseMs', ['1', 0, -1, NaN, Infinity, 31 * 86_400_000]],
    ['soakMs', [undefined, '1', -1, NaN, Infinity, 31 * 86_400_000]],
    ['queue', [undefined, 'newest']],
    ['overrideHold', ['yes', 1, null]],
    ['overrideFreeze', ['yes', 1, null]],
    [
      'freezes',
      [
        7,
        [null],
        [{ ...FREEZE, name: 7 }],
        [{ ...FREEZE, timeZone: '' }],
        [{ ...FREEZE, from: 'Fry 16:00' }],
        [{ ...FREEZE, until: '08:00' }],
        [{ ...FREEZE, then: 'pray' }],
        Array.from({ length: 101 }, () => FREEZE),
      ],
    ],
  ])('with a wrong "%s" is refused', (path, values) => {
    for (const value of values) expect(releaseRequestProblem(changed(path, value))).toBeTypeOf('string');
  });

  it('with a vocabulary that there is none of is refused', () => {
    expect(releaseRequestProblem(changed('target.vocabulary', 'private'))).toBe(
      '"target.vocabulary" is none of contract, public',
    );
  });

  it.each<[string, unknown]>([
    ['a step that is no object', { find: 3 }],
    ['a deadline that is text', { find: { startToCloseMs: '5s' } }],
    ['a deadline of nothing', { find: { scheduleToCloseMs: 0 } }],
    ['a deadline that is not whole', { find: { heartbeatMs: 1.5 } }],
    ['an endless deadline', { find: { heartbeatMs: Infinity } }],
    ['a negative interval', { find: { retry: { initialIntervalMs: -1 } } }],
    ['no interval', { find: { retry: { maximumIntervalMs: 0 } } }],
    ['a coefficient under one', { find: { retry: { backoffCoefficient: 0.5 } } }],
    ['negative attempts', { find: { retry: { maximumAttempts: -1 } } }],
    ['half an attempt', { find: { retry: { maximumAttempts: 1.5 } } }],
    ['retries that are no object', { find: { retry: 5 } }],
  ])('with %s is refused: Temporal would choke on it again and again', (_, steps) => {
    expect(releaseRequestProblem(changed('steps', steps))).toBeTypeOf('string');
  });

  it('that is too large to be carried from run to run is refused', () => {
    const input = { text: 'x'.repeat(200_000) };
    const request = changed('checks', [{ ...REQUEST.checks[0], input }]);
    expect(releaseRequestProblem(request)).toContain('larger than');
  });
});
