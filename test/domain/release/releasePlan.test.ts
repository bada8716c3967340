import { describe, expect, it } from 'vitest';

import type { ReleaseRequest } from '../../../src/domain/release/release.ts';
import {
  longestMs,
  plannedChange,
  plannedSteps,
  restoringSteps,
} from '../../../src/domain/release/releasePlan.ts';
import { request as releaseRequest } from '../target/targets.ts';

const MINUTE = 60_000;

const check = { name: 'greets', assistant: 'agent', input: {}, expect: {}, timeoutMs: 1_000 };
const request = releaseRequest('key', { checks: [check] });

const EXISTS = { exists: true, unknownBaseline: false };

function steps(change: Partial<ReleaseRequest>, around = EXISTS): string[] {
  return plannedSteps({ ...request, ...change }, around).map(
    ({ step, subject, times }) =>
      `${step}${subject === null ? '' : ` ${subject}`}${times === 1 ? '' : ` × ${times}`}`,
  );
}

describe('the planned steps', () => {
  it('are those of a release in their order', () => {
    expect(steps({})).toEqual(['find', 'upload', 'patch', 'deployed', 'serving', 'check greets', 'record']);
  });

  it('create a missing deployment, and check an unknown baseline', () => {
    const created = steps({}, { exists: false, unknownBaseline: false });
    expect(created.slice(0, 3)).toEqual(['find', 'create', 'upload']);
    expect(steps({}, { exists: true, unknownBaseline: true })[1]).toBe('baseline greets');
  });

  it('upload nothing for an image, and read twice if its deployment may not exist yet', () => {
    const image = { kind: 'image', uri: 'x:1' } as const;
    expect(steps({ artifact: image })).not.toContain('upload');
    expect(steps({ artifact: image, approval: { required: 1, withinMs: MINUTE } })[0]).toBe('find × 2');
  });

  it('include the soak, and the freezes', () => {
    const night = { name: 'night', timeZone: 'UTC', from: '22:00', until: '06:00', then: 'wait' } as const;
    const planned = steps({ soakMs: 10 * MINUTE, freezes: [night] });
    expect(planned).toContain('soak');
    expect(planned).toContain('freeze');
  });

  it('have the deadlines of the file, and last at most as long as all of them', () => {
    const deployed = { scheduleToCloseMs: 2 * MINUTE };
    const planned = plannedSteps({ ...request, steps: { deployed } }, EXISTS);
    // find 15, upload 30, patch 5, deployed 2, serving 5, check 15, record 5.
    expect(longestMs(planned)).toBe(77 * MINUTE);
    expect(planned.find(({ step }) => step === 'deployed')?.policy.scheduleToCloseMs).toBe(2 * MINUTE);
  });

  it('restore a revision with longer deadlines', () => {
    const [redeploy, , , restored] = restoringSteps(request);
    expect(redeploy?.step).toBe('redeploy');
    const forward = plannedSteps(request, EXISTS).find(({ step }) => step === 'check');
    const { maximumAttempts = Infinity } = forward?.policy.retry ?? {};
    expect(restored?.policy.retry.maximumAttempts).toBeGreaterThan(maximumAttempts);
  });
});

describe('the planned changes of a deployment', () => {
  const now = {
    source: 'internal_source',
    source_config: { build_command: 'make', install_command: 'npm ci', custom_url: 'http://agent' },
    source_revision_config: { graph_config_path: 'old.json', source_tarball_path: 'uploads/1' },
    secrets: ['KEPT', 'GONE'],
  };
  const target = {
    ...request.target,
    sourceConfig: { build_command: 'make all', install_command: 'npm ci' },
  };

  it('are the sent fields that differ; others stay', () => {
    expect(plannedChange({ ...request, target }, now).fields).toEqual([
      { path: 'source_config.build_command', from: 'make', to: 'make all' },
      { path: 'source_revision_config.graph_config_path', from: 'old.json', to: 'graph.json' },
    ]);
  });

  it('name immutable fields', () => {
    const sourceConfig = { deployment_type: 'prod' };
    const { fields, immutable } = plannedChange(
      { ...request, target: { ...target, source: 'repo_host', sourceConfig } },
      { ...now, source_config: { deployment_type: 'dev' } },
    );
    expect(fields.map(({ path }) => path)).toEqual(['source_revision_config.graph_config_path']);
    expect(immutable).toEqual([
      { path: 'source', from: 'internal_source', to: 'repo_host' },
      { path: 'source_config.deployment_type', from: 'dev', to: 'prod' },
    ]);
  });

  it('keep secrets if the file names none', () => {
    expect(plannedChange(request, now).secrets).toBeNull();
  });

  it('name secrets with their references; the list is replaced as a whole', () => {
    const secrets = [
      { name: 'KEPT', from: 'env:KEPT' },
      { name: 'NEW', from: 'file:/new' },
    ];
    expect(plannedChange({ ...request, target: { ...target, secrets } }, now).secrets).toEqual([
      { name: 'KEPT', from: 'env:KEPT', change: 'set_again' },
      { name: 'NEW', from: 'file:/new', change: 'added' },
      { name: 'GONE', from: null, change: 'removed' },
    ]);
  });

  it('are all fields if there is no deployment yet', () => {
    const { fields, secrets } = plannedChange({ ...request, target }, null);
    expect(fields.map(({ path, from }) => [path, from])).toEqual([
      ['source', undefined],
      ['source_config.build_command', undefined],
      ['source_config.install_command', undefined],
      ['source_revision_config.graph_config_path', undefined],
    ]);
    expect(secrets).toEqual([]);
  });
});
