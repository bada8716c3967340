import { describe, expect, it } from 'vitest';

import { audit } from '../../../src/domain/audit/audit.ts';
import type {
  ActivityFact,
  ObservedRequest,
  TargetFacts,
  WorkFact,
} from '../../../src/domain/audit/facts.ts';
import { request, verified } from '../target/targets.ts';
import { activity } from './activityFact.ts';
import {
  awaited,
  broken,
  patch,
  PATH,
  putBack,
  redeploy,
  released,
  target,
  unanswered,
  work,
} from './auditedWorks.ts';

describe('an audit', () => {
  it('finds nothing wrong with a normal release', () => {
    expect(broken(target([released()]))).toEqual([]);
  });

  it('finds nothing wrong with a release that was rolled back', () => {
    expect(broken(target([putBack()]))).toEqual([]);
  });

  it.each([
    [1, 'two changes at one time', [putBack(), released({ workflowId: 't/release-2', shift: 2 })]],
    [2, 'a PATCH sent again after its answer', [released({ insert: [4, patch(4)] })]],
    [2, 'a PATCH sent again without a look', [released({ insert: [3, unanswered(patch(2))] })]],
    [2, 'a PATCH of an image sent again after an unknown answer', [image()]],
    [3, 'a revision followed that it did not make', [released({ replace: [4, awaited('theirs', 5)] })]],
    [4, 'a check before the revision served', [released({ remove: 5 })]],
    [5, 'a failed release that put nothing back', [putBack({ cut: 7 })]],
    [5, 'a restore that went round', [putBack({ insert: [8, redeploy('other', 9), redeploy('old', 10)] })]],
    [
      5,
      'a restore of what a person had left',
      [{ ...putBack(), known: [{ ...verified('old'), quarantined: true }] }],
    ],
    [5, 'a restore under a check that was not passed', [putBack({ replace: [11, asks('new', false)] })]],
    [
      5,
      'a restore in which what failed everywhere took a verification',
      [
        putBack({
          replace: [11, asks('own', false)],
          insert: [0, activity('readChecks', {}, 0, { checks: [{ name: 'own' }] })],
          result: { outcome: 'errored', knownRevisions: [{ ...verified('old'), verified: false }] },
        }),
      ],
    ],
    [6, 'a revision given up on that nobody watches', [putBack({ result: { givenUpRevisionIds: ['new'] } })]],
    [8, 'a release of what was interrupted', [released({ replace: [4, awaited('new', 5, 'INTERRUPTED')] })]],
    [9, 'a release that ended without a result', [{ ...released(), ended: 'failed', result: null }]],
  ] as const)('finds rule %s violated by %s', (rule, _, works) => {
    expect(broken(target([...works]))).toContain(rule);
  });

  it('allows a restore to run checks that the same revision passed in an earlier release', () => {
    const earlier = (passed: boolean): WorkFact => ({
      ...released({ replace: [6, asks('new', passed)] }),
      workflowId: 't/release-0',
    });
    const restoring = putBack({ replace: [11, asks('new', false)], shift: 200 });
    expect(broken(target([earlier(true), restoring]))).not.toContain(5);
    expect(broken(target([earlier(false), restoring]))).toContain(5);
  });

  it('allows a release to restore what a person freed while it ran, and nothing of what a person quarantined then', () => {
    const known = [{ ...verified('old'), artifact: 'sha256:a' }];
    const quarantined = known.map((one) => ({ ...one, quarantined: true as const }));
    const during = (kind: 'quarantine' | 'unquarantine', work: WorkFact): number[] =>
      broken({ ...target([work]), said: [{ kind, at: 7, artifact: 'sha256:a' }] });
    expect(broken(target([{ ...putBack(), known: quarantined }]))).toContain(5);
    expect(during('unquarantine', { ...putBack(), known: quarantined })).not.toContain(5);
    const stuck = { ...putBack({ cut: 7, result: { outcome: 'rollback_failed' } }), known };
    expect(broken(target([stuck]))).toContain(5);
    expect(during('quarantine', stuck)).not.toContain(5);
  });

  it('finds a copy that lost the checks of its original', () => {
    const at = new Date(90).toISOString();
    const copied = (checks?: string): WorkFact => {
      const original = { revisionId: 'old', verified: true, at, checks: 'sha256:1' };
      const copy = { revisionId: 'copy', verified: false, at, copyOf: 'old', checks };
      return released({ result: { knownRevisions: [original, copy] } });
    };
    expect(broken(target([copied()]))).toContain(5);
    expect(broken(target([copied('sha256:1')]))).not.toContain(5);
  });

  it('finds a number that two runs of a target gave, and allows each number once', () => {
    const [first, other] = [released(), released({ shift: 200 })];
    expect(broken(target([first, other]))).toEqual([1]);
    expect(broken(target([first, { ...other, workflowId: 't/rollback-1' }]))).toEqual([1]);
    expect(broken(target([first, { ...other, workflowId: 't/release-2' }]))).toEqual([]);
  });

  it('finds a deployment that two targets changed in turns, and allows one to take over from the other', () => {
    const at = (workflowId: string, ...shifts: readonly number[]): TargetFacts => {
      const works = shifts.map((shift, index) => {
        const patched = { ...patch(3), input: { objectPath: PATH, deploymentId: 'd' } };
        return released({ workflowId: `${workflowId}/release-${index + 1}`, shift, replace: [3, patched] });
      });
      return { ...target(works), workflowId };
    };
    const held = (one: TargetFacts, other: TargetFacts): unknown =>
      audit({ target: one, others: [other], observed: null, secrets: [] });
    const what = 'it changed the deployment d, which one was changing';
    expect(held(at('one', 0, 200), at('two', 100))).toEqual([{ rule: 1, workflowId: 'two/release-1', what }]);
    expect(held(at('one', 0, 100), at('two', 200))).toEqual([]);
    expect(held(at('two', 200), at('one', 0, 100))).toEqual([]);
    // Two names of one target in a file.
    expect(held(at('one', 0, 100, 200), at('one', 0, 100, 200))).toEqual([]);
  });

  it('finds an earlier revision that a release adopted because its PATCH’s answer named it', () => {
    const looked = activity('findDeployment', {}, 1, deployed('old'));
    const steps = [looked, { ...patch(3), result: deployed('old') }, awaited('old', 5)];
    const serving = activity('confirmServing', { revisionId: 'old' }, 6);
    const took = work({}, { revisionId: 'old' }, [...steps, serving]);
    expect(broken(target([{ ...took, known: [] }]))).toContain(3);
    const running = { ...took, known: [], ended: 'running', endedAt: null, result: null } as const;
    expect(broken(target([running]))).toContain(3);
  });

  it.each<[string, ActivityFact]>([
    ['that finds somebody else’s alone', activity('readDeployment', {}, 2.5, deployed('theirs'))],
    ['at a list that there is not', activity('listRevisions', {}, 2.5, { revisions: null })],
    ['at a page that does not reach back', activity('listRevisions', {}, 2.5, { revisions: theirs(50) })],
  ])('finds a PATCH that was sent again after a read %s', (_, look) => {
    const looked = activity('findDeployment', {}, 1, deployed('old'));
    const again = released({ insert: [3, looked, unanswered(patch(2)), look] });
    expect(broken(target([again]))).toContain(2);
  });

  it.each<[string, ActivityFact]>([
    ['that finds nothing new', activity('readDeployment', {}, 2.5, deployed('old'))],
    ['at a short list', activity('listRevisions', {}, 2.5, { revisions: theirs(10) })],
    ['at all that came since', activity('listRevisions', { since: 'old' }, 2.5, { revisions: theirs(130) })],
  ])('allows a PATCH to be sent again after a read %s', (_, look) => {
    const looked = activity('findDeployment', {}, 1, deployed('old'));
    const again = released({ insert: [3, looked, unanswered(patch(2)), look] });
    expect(broken(target([again]))).toEqual([]);
  });

  it('allows a PATCH to be sent again if reads in between did not find its revision', () => {
    const look = activity('readDeployment', {}, 2.5, { deployment: { latestRevisionId: 'before' } });
    expect(broken(target([released({ insert: [3, unanswered(patch(2)), look] })]))).toEqual([]);
  });

  it.each<[string, ActivityFact]>([
    ['unanswered', unanswered(patch(3))],
    ['answered with the revision before it', { ...patch(3), result: deployed('old') }],
  ])('allows a release to follow a revision that a read after a PATCH identified: %s', (_, sent) => {
    const adopts = (path: string): TargetFacts => {
      const deployment = { latestRevisionId: 'new', latestTarballPath: path };
      const look = activity('readDeployment', {}, 3.5, { deployment });
      const runs = released({ replace: [3, sent], insert: [4, look] });
      return target([{ ...runs, ended: 'running', endedAt: null, result: null }]);
    };
    expect(broken(adopts(PATH))).toEqual([]);
    expect(broken(adopts('uploads/theirs'))).toEqual([3]);
  });

  it('allows no restore if the request says so, or there is nothing to restore', () => {
    const stop = request('a', { onError: { then: 'stop', waitMs: 0 } });
    expect(broken(target([{ ...putBack({ cut: 7 }), request: stop }]))).toEqual([]);
    const nothing = putBack({ cut: 7, result: { baseline: null } });
    expect(broken(target([{ ...nothing, known: [] }]))).toEqual([]);
    const copy = { ...verified('copy'), copyOf: 'old', quarantined: true } as const;
    const baseline = { revisionId: 'copy', verified: true };
    const leftCopy = putBack({ cut: 7, result: { baseline, knownRevisions: [copy] } });
    expect(broken(target([{ ...leftCopy, known: [verified('old'), copy] }]))).toEqual([]);
  });

  it('reports no extra revision that the target itself detected as late', () => {
    const observed = ['new', 'late'].map((revisionId) => ({ revisionId, tarballPath: PATH }));
    const found = activity('awaitLateUpload', { objectPath: PATH }, 20, { revisionId: 'late' });
    const facts = { ...target([released()]), activities: [found] };
    expect(audit({ target: facts, observed, secrets: [] })).toEqual([]);
  });

  it('finds a revision on the control plane that the release does not report', () => {
    const observed = ['new', 'twin'].map((revisionId) => ({ revisionId, tarballPath: PATH }));
    const evidence = { target: target([released()]), observed, secrets: [] };
    expect(audit(evidence)).toMatchObject([{ rule: 2, what: expect.stringContaining('twin') as string }]);
    const told = released({ result: { extraRevisionIds: ['twin'] } });
    expect(audit({ ...evidence, target: target([told]) })).toEqual([]);
  });

  it.each([
    ['that the redeploy names', 9, awaited('copy', 111)],
    ['that shows up late', 10, activity('confirmServing', { revisionId: 'new' }, 112, { copyId: 'copy' })],
  ])('reports no extra revision for a redeployed copy of the released one %s', (_, index, seen) => {
    const observed = ['new', 'copy'].map((revisionId) => ({ revisionId, tarballPath: PATH }));
    const later = putBack({ workflowId: 't/release-2', shift: 100, replace: [index, seen] });
    const works = [released(), later];
    const rules = audit({ target: target(works), observed, secrets: [] }).map(({ rule }) => rule);
    expect(rules).not.toContain(2);
  });

  it('finds a change of the deployment by none of its releases', () => {
    const sent = { kind: 'patch', sentAt: 5_003, tarballPath: PATH, revisionId: null } as const;
    const put = { kind: 'redeploy', sentAt: 5_008, tarballPath: null, revisionId: 'old' } as const;
    const works = target([putBack({ shift: 5_000 })]);
    const held = (...requests: readonly ObservedRequest[]) =>
      audit({ target: works, observed: null, secrets: [], requests }).map(({ rule, what }) => [rule, what]);
    expect(held(sent, put)).toEqual([]);
    const nobody = 'that no release was sending';
    expect(held({ ...sent, sentAt: 20_000 })).toEqual([
      [1, `the control plane got a patch of ${PATH} ${nobody}`],
    ]);
    expect(held({ ...put, revisionId: 'other' })).toEqual([
      [1, `the control plane got a redeploy of other ${nobody}`],
    ]);
    expect(held({ ...sent, tarballPath: null })).toHaveLength(1);
  });

  it('finds a release that a reset in Temporal made change the deployment again, and no other reset', () => {
    const reset = (run: WorkFact) => broken({ ...target([released()]), resets: [run] });
    expect(reset(released({ shift: 50 }))).toEqual([1]);
    expect(reset(released({ insert: [3, patch(60)] }))).toEqual([1]);
    expect(reset(released())).toEqual([]);
    const unchanged = released({ cut: 2 });
    expect(broken({ ...target([unchanged]), resets: [released({ shift: 50 })] })).not.toContain(1);
  });

  it('finds a secret in a history, and ignores short words', () => {
    const texts = [{ workflowId: 't/release-1', text: '{"apiKey":"hunter2hunter2"}' }];
    const evidence = { target: { ...target([]), texts }, observed: null };
    expect(audit({ ...evidence, secrets: ['hunter2hunter2'] })).toMatchObject([{ rule: 7 }]);
    expect(audit({ ...evidence, secrets: ['api'] })).toEqual([]);
  });

  it('finds a workflow task that failed', () => {
    const failed = (isLast: boolean) => [{ workflowId: 't', message: 'nondeterminism', isLast }];
    expect(broken({ ...target([]), taskFailures: failed(false) })).toEqual([9]);
    expect(broken({ ...target([]), taskFailures: failed(true) })).toEqual([10]);
  });
});

function deployed(latestRevisionId: string): Record<string, unknown> {
  return { deployment: { latestRevisionId, activeRevisionId: latestRevisionId, latestTarballPath: PATH } };
}

/** Other people's revisions, as a list returns them. */
function theirs(count: number): readonly object[] {
  return Array.from({ length: count }, (_, index) => ({
    revisionId: `theirs-${index}`,
    tarballPath: `uploads/theirs-${index}`,
  }));
}

function image(): WorkFact {
  const sent = { ...patch(2), input: { objectPath: null } };
  const look = activity('readDeployment', {}, 2.5, { deployment: { latestRevisionId: 'before' } });
  const again = { ...patch(3), input: { objectPath: null } };
  const rest = [awaited('new', 5), activity('confirmServing', { revisionId: 'new' }, 6)];
  return work({}, {}, [unanswered(sent), look, again, ...rest]);
}

function asks(name: string, passed: boolean): ActivityFact {
  return activity('runCheck', { revisionId: 'old', check: { name } }, 13, { verdict: { passed } });
}
