import { describe, expect, it } from 'vitest';

import { releaseRequestProblem } from '../../../src/domain/release/requestProblem.ts';
import { FULL_REQUEST, withPart } from './hostileRequests.ts';

const [FREEZE] = FULL_REQUEST.freezes;
const [SLACK, WEBHOOK, DEPLOYMENTS] = FULL_REQUEST.notify;
const MONTH_AND_A_DAY_MS = 31 * 86_400_000;

/** The problem of the full request after the part at a dot path is replaced; `undefined` removes it. */
function problemWith(path: string, value: unknown): string | undefined {
  return releaseRequestProblem(withPart(FULL_REQUEST, path.split('.'), value));
}

describe('a request for a release', () => {
  it.each<[string, unknown]>([
    ['artifact', { kind: 'image', uri: 'registry.test/agent:1' }],
    ['artifact', { kind: 'git', ref: 'main' }],
    ['graphConfigPath', null],
    ['checks', []],
    ['target.secrets', undefined],
    ['notify', undefined],
  ])('accepts for "%s": %j', (path, value) => {
    expect(problemWith(path, value)).toBeUndefined();
  });

  it('may not claim that its requester is verified', () => {
    const proved = { issuer: 'https://login.example.com', subject: '1' };
    expect(problemWith('requestedBy.proved', proved)).toContain('"requestedBy.proved"');
  });

  it.each([undefined, null, 7, 'request', [], [FULL_REQUEST]])('that is %j is rejected', (garbage) => {
    expect(releaseRequestProblem(garbage)).toBe('the request is not an object');
  });

  it.each([
    ...['requestKey', 'target.name', 'target.controlPlane', 'target.deployment', 'target.source'],
    ...['target.apiKey.from', 'artifact.kind', 'artifact.digest', 'artifact.store', 'recordStore'],
    ...['requestedBy.who', 'requestedBy.from'],
  ])('without a text for "%s" is rejected', (path) => {
    for (const value of [undefined, null, 7, {}, [], '', 'x'.repeat(1_001)]) {
      expect(problemWith(path, value)).toContain(`"${path}"`);
    }
  });

  it.each<[string, readonly unknown[]]>([
    ['artifact.kind', ['wheel', 'constructor']],
    ['artifact.sizeBytes', [undefined, '1', -1, NaN]],
    ['target.source', ['elsewhere']],
    ['target.secrets', ['x', [{ name: 'TOKEN', value: 'secret' }], {}]],
    ['target.sourceConfig', [undefined, null, 'x', []]],
    ['target.deploymentId', [7, '']],
    ['target.vocabulary', ['private']],
    ['commit', [7, 'c'.repeat(1_001)]],
    ['checks', [undefined, {}, [null], [{ name: 'x' }], Array(101).fill(FULL_REQUEST.checks[0])]],
    ['checks.0.name', ['soak', 'freeze', 'judge']],
    ['steps', [undefined, null, [], 'x']],
    ['pauseMs', ['1', 0, -1, NaN, Infinity, MONTH_AND_A_DAY_MS]],
    ['soakMs', [undefined, '1', -1, NaN, Infinity, MONTH_AND_A_DAY_MS]],
    ['queue', [undefined, 'newest']],
    ['overrideHold', ['yes', 1, null]],
    ['overrideFreeze', ['yes', 1, null]],
    ['freezes', [7, [null], Array(101).fill(FREEZE)]],
    ['freezes.0.name', [7]],
    ['freezes.0.timeZone', ['']],
    ['freezes.0.from', ['Fry 16:00']],
    ['freezes.0.until', ['08:00']],
    ['freezes.0.then', ['pray']],
    // With these, Temporal would fail a workflow task repeatedly.
    ['steps.find', [3]],
    ['steps.find.startToCloseMs', ['5s', 0, 1.5, Infinity]],
    ['steps.find.retry', [5]],
    ['steps.find.retry.initialIntervalMs', [-1]],
    ['steps.find.retry.maximumIntervalMs', [0]],
    ['steps.find.retry.backoffCoefficient', [0.5]],
    ['steps.find.retry.maximumAttempts', [-1, 1.5]],
  ])('with an invalid "%s" is rejected', (path, values) => {
    for (const value of values) expect(problemWith(path, value)).toBeTypeOf('string');
  });

  it.each<[unknown, string]>([
    ['ops', '"notify" is not a list'],
    [[null], '"notify.0" is not an object'],
    [[{ ...SLACK, kind: 'pager' }], '"notify.0.kind" is none of slack, webhook'],
    [[{ ...SLACK, name: '' }], '"notify.0.name" is not text'],
    [[{ ...SLACK, events: ['exploded'] }], '"notify.0.events.0" is none of'],
    [[{ ...SLACK, url: 'https://hooks.example/secret' }], '"notify.0.url" is not an object'],
    [[{ ...WEBHOOK, secret: undefined }], '"notify.0.secret" is not an object'],
    [[{ ...DEPLOYMENTS, apiUrl: undefined }], '"notify.0.apiUrl" is not text'],
    [[{ ...DEPLOYMENTS, repository: 7 }], '"notify.0.repository" is not text'],
    [Array(21).fill(SLACK), '"notify" has more than 20 entries'],
  ])('with the receivers %j is rejected', (notify, problem) => {
    expect(problemWith('notify', notify)).toContain(problem);
  });

  it('that is too large for Continue-As-New is rejected', () => {
    expect(problemWith('checks.0.input', { text: 'x'.repeat(200_000) })).toContain('larger than');
  });
});
