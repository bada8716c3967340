import type { Actor } from '../../src/domain/actor.ts';
import type { Check } from '../../src/domain/check/check.ts';
import type { ReleaseRequest, ReleaseResult } from '../../src/domain/release/release.ts';
import type { StepOverrides } from '../../src/domain/step.ts';

const ADA: Actor = { who: 'ada', from: 'test' };

/** Retries that are short enough for a test, and deadlines that are long enough for a busy machine. */
export const QUICK: StepOverrides = {
  find: { retry: { initialIntervalMs: 5 } },
  create: { startToCloseMs: 60_000, retry: { initialIntervalMs: 10 } },
  baseline: { retry: { initialIntervalMs: 5, maximumAttempts: 2 } },
  upload: { retry: { initialIntervalMs: 5, maximumAttempts: 3 } },
  patch: { startToCloseMs: 60_000, retry: { initialIntervalMs: 10, maximumAttempts: 3 } },
  deployed: { startToCloseMs: 600_000, retry: { initialIntervalMs: 5 } },
  serving: { startToCloseMs: 600_000, retry: { initialIntervalMs: 5 } },
  check: { retry: { initialIntervalMs: 5, maximumAttempts: 2 } },
  soak: { retry: { initialIntervalMs: 5, maximumAttempts: 2 } },
  redeploy: { startToCloseMs: 60_000, retry: { initialIntervalMs: 10, maximumAttempts: 3 } },
  watch: { retry: { initialIntervalMs: 5 } },
  record: { retry: { initialIntervalMs: 5, maximumAttempts: 2 } },
};

export const GREETS: Check = {
  name: 'greets',
  assistant: 'agent',
  input: { messages: [] },
  expect: { contains: 'hello' },
  timeoutMs: 1_000,
};

/** A request to the target of a world. Artifacts are given by short names. */
export function releaseRequest(
  worldId: string,
  artifact: string,
  changes: Partial<ReleaseRequest> = {},
): ReleaseRequest {
  return {
    requestKey: `key-${artifact}`,
    target: {
      name: 'production',
      controlPlane: `http://${worldId}.test`,
      apiKey: { from: 'env:CONTROL_PLANE_KEY' },
      deployment: 'agent',
      source: 'internal_source',
      sourceConfig: {},
    },
    artifact: tarball(artifact),
    graphConfigPath: 'graph.json',
    checks: [GREETS],
    steps: QUICK,
    soakMs: 0,
    queue: 'latest',
    recordStore: `file:///${worldId}`,
    requestedBy: ADA,
    ...changes,
  };
}

export function tarball(name: string): ReleaseRequest['artifact'] {
  const digest = `sha256:${Buffer.from(name).toString('hex').padEnd(64, '0')}`;
  return { kind: 'tarball', digest, sizeBytes: 1_234, store: 'file:///artifacts' };
}

export function identity(name: string): string {
  const artifact = tarball(name);
  return artifact.kind === 'tarball' ? artifact.digest : '';
}

export function stepNames(result: Pick<ReleaseResult, 'steps'>): string[] {
  return result.steps.map((step) => `${step.restoring ? 'restore ' : ''}${step.step} ${step.status}`);
}
