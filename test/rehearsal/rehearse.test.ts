import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

import { logOnStderr } from '../../src/cli/commands/worker/workerLog.ts';
import type { Artifact } from '../../src/domain/artifact/artifact.ts';
import type { PromotionRequest, PromotionResult } from '../../src/domain/promotion/promotion.ts';
import type { TargetSpec } from '../../src/domain/target/targetSpec.ts';
import type { Rehearsal, RehearsalEvent } from '../../src/rehearsal/play.ts';
import { readInjections } from '../../src/rehearsal/readInjections.ts';
import { rehearse, type Rehearsed } from '../../src/rehearsal/rehearse.ts';
import type { TestServer } from '../../src/temporal/server/testServer.ts';
import { openTestServer } from '../support/testServer.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const TARGETS = ['canary', 'production', 'mirror', 'spare'];
const STORE = 'file:///nowhere';
const BY = { who: 'rehearsal', from: 'a test' };
const CHECKS = checks('greets');
const RELEASE: PromotionRequest['release'] = { checks: CHECKS, steps: {}, soakMs: 0, graphConfigPath: null };

const INJECTIONS = `
check greets fails at 3h of the soak
control plane of mirror is down from 22:00 to 06:00  # all night
ada approves after 2h
check greets fails at 3h of the bake  # it bakes for two
`;

let server: TestServer | string;

beforeAll(async () => {
  server = await openTestServer();
  // It is downloaded on a machine that does not have it yet.
}, 600_000);

afterAll(async () => {
  if (typeof server !== 'string') await server.stop();
});

describe('a rehearsal', () => {
  it('plays a week: a soak that fails, nights without a control plane, a slow approval', async ({ skip }) => {
    if (typeof server === 'string') return skip(server);
    logOnStderr('ERROR');
    const { told, rehearsed } = await rehearseWeek(server);

    const released = told.find((one) => one.kind === 'release');
    expect(released).toMatchObject({ target: 'canary', result: { outcome: 'released' } });

    // At noon of each day.
    const [soaked, promoted, ...later] = promotions(told, 'up');
    expect(soaked).toMatchObject({ outcome: 'failed', code: 'SLIPWAY_CHECK_FAILED' });
    expect(hoursOf(soaked, 'soak')).toBe(4);
    expect(promoted).toMatchObject({ outcome: 'released', nothingToDo: false });
    expect(hoursOf(promoted, 'bake')).toBe(2);
    const [approval] = promoted?.interventions ?? [];
    expect(approval).toMatchObject({ kind: 'approve', taken: true, by: { who: 'ada' } });
    const judgedFrom = promoted?.steps.find(({ step }) => step === 'soak')?.endedAt;
    expect(hoursBetween(judgedFrom, approval?.at)).toBe(2);
    expect(later).toHaveLength(5);
    expect(later.every(({ nothingToDo }) => nothingToDo)).toBe(true);

    // At midnight of one day.
    expect(promotions(told, 'nightly')).toMatchObject([
      {
        outcome: 'errored',
        code: 'SLIPWAY_UNREACHABLE',
        reason: expect.stringContaining('"mirror" is down'),
      },
    ]);
    // Twice a day; the first one soaks for two days.
    const overlaps = told.flatMap((one) => (one.kind === 'overlap' ? [one.what] : []));
    expect(overlaps.slice(0, 2)).toEqual(['done_after', 'left_out']);
    const [first, buffered] = promotions(told, 'often');
    expect(first).toMatchObject({ outcome: 'released', nothingToDo: false });
    expect(buffered).toMatchObject({ nothingToDo: true });
    expect(hoursBetween(first?.endedAt, buffered?.startedAt)).toBe(0);

    expect(rehearsed.unmet.map(({ text }) => text)).toEqual(['check greets fails at 3h of the bake']);
  });
});

async function rehearseWeek(
  on: TestServer,
): Promise<{ readonly told: readonly RehearsalEvent[]; readonly rehearsed: Rehearsed }> {
  const told: RehearsalEvent[] = [];
  // It begins at the same time of day whenever the test runs.
  await on.time.until(Math.ceil((await on.time.now()) / DAY_MS) * DAY_MS + HOUR_MS / 2);
  const rehearsal: Rehearsal = {
    promotions: [
      {
        request: request('up', 'production', { approval: { required: 1, withinMs: 8 * HOUR_MS } }),
        schedule: scheduled('0 12 * * *'),
      },
      { request: request('nightly', 'mirror', {}), schedule: scheduled('0 0 * * 0') },
      {
        // With a check of its own. It soaks together with the first one, which meets the injected fault.
        request: request('often', 'spare', {
          soakMs: 48 * HOUR_MS,
          release: { ...RELEASE, checks: checks('answers') },
        }),
        schedule: {
          everyMs: 12 * HOUR_MS,
          timeZone: 'UTC',
          jitterMs: 0,
          overlap: 'buffer_one',
          catchUpMs: 60_000,
        },
      },
    ],
    targets: TARGETS.map((name) => ({ spec: spec(name), serves: artifact('a') })),
    release: (target) => ({
      requestKey: 'b',
      target: spec(target),
      artifact: artifact('b'),
      graphConfigPath: null,
      checks: CHECKS,
      steps: {},
      soakMs: 0,
      queue: 'latest',
      recordStore: STORE,
      requestedBy: BY,
    }),
    sources: ['canary'],
    days: 7,
    injections: readInjections(INJECTIONS, 'a test', {
      checks: ['greets', 'answers'],
      targets: TARGETS,
    }),
    timeZone: 'UTC',
  };
  const rehearsed = await rehearse(on, rehearsal, {
    onEvent: (one) => told.push(one),
    bundlePath: inject('workflowBundle'),
  });
  return { told, rehearsed };
}

function checks(name: string): PromotionRequest['release']['checks'] {
  return [{ name, assistant: 'greeter', input: {}, expect: { contains: 'Ada' }, timeoutMs: 1_000 }];
}

function spec(name: string): TargetSpec {
  return {
    name,
    controlPlane: `http://${name}.test`,
    apiKey: { from: 'env:NOT_ASKED_FOR' },
    deployment: 'agent',
    source: 'internal_source',
    sourceConfig: {},
  };
}

function artifact(digit: string): Artifact {
  return { kind: 'tarball', digest: `sha256:${digit.repeat(64)}`, sizeBytes: 1, store: STORE };
}

function request(name: string, to: string, fields: Partial<PromotionRequest>): PromotionRequest {
  return {
    name,
    from: spec('canary'),
    to: spec(to),
    downstream: [],
    release: RELEASE,
    soakMs: name === 'up' ? 48 * HOUR_MS : 0,
    bakeMs: name === 'up' ? 2 * HOUR_MS : 0,
    checkEveryMs: 2 * HOUR_MS,
    freezes: [],
    differences: [],
    store: STORE,
    requestedBy: BY,
    ...fields,
  };
}

function scheduled(cron: string) {
  return { cron, timeZone: 'UTC', jitterMs: 0, overlap: 'skip', catchUpMs: 60_000 } as const;
}

function promotions(told: readonly RehearsalEvent[], name: string): PromotionResult[] {
  return told.flatMap((one) => (one.kind === 'promotion' && one.name === name ? [one.result] : []));
}

function hoursOf(result: PromotionResult | undefined, wanted: string): number {
  const found = result?.steps.find(({ step }) => step === wanted);
  return hoursBetween(found?.startedAt, found?.endedAt);
}

/** Whole hours, because the workflows themselves take some milliseconds in between. */
function hoursBetween(one = '', other = ''): number {
  return Math.round((Date.parse(other) - Date.parse(one)) / HOUR_MS);
}
