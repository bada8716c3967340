import { randomUUID } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { breakGlass } from '../../../../src/cli/commands/rollback/breakGlass.ts';
import { readLocalHold } from '../../../../src/cli/commands/target/localHold.ts';
import type { KnownRevision } from '../../../../src/domain/release/release.ts';
import type { TargetSpec } from '../../../../src/domain/target/targetSpec.ts';
import { json, type SeenRequest, startService } from '../../../clients/faultyService.ts';
import { testOutput } from '../../testOutput.ts';
import { request } from '../../../domain/target/targets.ts';
import { useFolders } from '../../../support/temporaryFolder.ts';

const KEY = 'a-secret-key';
const PAGE = 100;
const never = new AbortController().signal;

/** All revisions are copies of one. */
const SOURCE = { source_tarball_path: 'uploads/one' };

/** A control plane with one deployment, whose redeploys take effect after a few reads. */
class ControlPlane {
  readonly id = randomUUID();
  readonly revisions: string[] = [randomUUID(), randomUUID(), randomUUID()];
  /** Newest first, as in the control plane's list. */
  statuses = ['DEPLOYED', 'DEPLOYED', 'DEPLOYED'];
  active = 0;
  redeployed: string[] = [];
  /** How a redeploy is answered: correctly, with 404, or not at all, after or without its effect. */
  redeploy: 'answers' | 'refuses' | 'silent_after' | 'silent_before' = 'answers';
  endsAs = 'DEPLOYED';
  /** Whether it offers more than the contract: a list of revisions. */
  offersList = true;
  /** Whether that list has the oldest first. */
  isOldestFirst = false;
  /** The statuses of the next answers to reads and to redeploys, instead of correct ones. */
  busy: { GET: number[]; POST: number[] } = { GET: [], POST: [] };
  /** Called when the revision that it redeploys is read. */
  onLook: () => void = () => undefined;
  /** The copy that a redeploy makes after its answer. */
  copy: string | undefined;
  #looks = 0;

  /** Answers until the end of the test. */
  async start(): Promise<string> {
    const { url } = await startService((request, response) => this.#answer(request, response));
    return url;
  }

  #answer({ headers, url }: SeenRequest, response: ServerResponse): void {
    const { pathname: path, searchParams: query } = new URL(url, 'http://control.plane');
    const busy = this.busy[path.endsWith('/redeploy') ? 'POST' : 'GET'].shift();
    if (headers['x-api-key'] !== KEY) json(response, 401, { detail: 'no' });
    else if (busy !== undefined) json(response, busy, { detail: 'busy' });
    else if (path === '/v2/deployments') json(response, 200, { resources: [this.#deployment()], offset: 1 });
    else if (path === `/v2/deployments/${this.id}`) json(response, 200, this.#deployment());
    else if (path.endsWith('/revisions')) {
      if (this.offersList) json(response, 200, this.#page(Number(query.get('offset') ?? 0)));
      else json(response, 404, { detail: 'Not Found' });
    } else if (path.endsWith('/redeploy') && this.redeploy === 'refuses') {
      json(response, 404, { detail: 'no such revision' });
    } else if (path.endsWith('/redeploy')) {
      if (this.redeploy !== 'silent_before') this.redeployed.push(path.split('/').at(-2)!);
      if (this.redeploy === 'silent_after') this.#settle();
      if (this.redeploy === 'answers') json(response, 200, this.#deployment());
      else response.destroy();
    } else {
      this.#looks += 1;
      this.onLook();
      if (this.#looks > 1) this.#settle();
      const id = path.split('/').at(-1)!;
      const status = this.#looks > 1 ? this.endsAs : 'DEPLOYING';
      json(response, 200, { id, status, source_revision_config: SOURCE });
    }
  }

  #settle(): void {
    const to = this.copy ?? this.redeployed.at(-1);
    if (to === this.copy && to !== undefined && !this.revisions.includes(to)) this.revisions.unshift(to);
    if (to !== undefined && this.endsAs === 'DEPLOYED') this.active = this.revisions.indexOf(to);
  }

  #page(from: number): unknown {
    const page = this.revisions.slice(from, from + PAGE);
    const resources = page.map((id, index) => ({
      id,
      status: this.statuses[from + index] ?? 'DEPLOYED',
      created_at: new Date(1e12 - (from + index) * 1000).toISOString(),
    }));
    return {
      resources: this.isOldestFirst ? resources.reverse() : resources,
      offset: from + page.length,
    };
  }

  #deployment(): unknown {
    const time = '2026-11-21T12:00:00.000Z';
    return {
      id: this.id,
      tenant_id: this.id,
      name: 'greeter',
      source: 'internal_source',
      source_config: {},
      source_revision_config: SOURCE,
      secrets: [],
      created_at: time,
      updated_at: time,
      status: 'READY',
      latest_revision_id: this.revisions[0],
      active_revision_id: this.revisions[this.active],
    };
  }
}

const home = useFolders();
let plane: ControlPlane;
let url: string;
beforeEach(async () => {
  plane = new ControlPlane();
  url = await plane.start();
});

function target(): TargetSpec {
  const apiKey = { from: 'env:PRODUCTION_KEY' };
  return { ...request('any').target, controlPlane: url, apiKey, deployment: 'greeter' };
}

async function breaking(
  options: {
    to?: string;
    recorded?: readonly Omit<KnownRevision, 'at'>[];
    wait?: boolean;
    timeoutMs?: number;
    json?: boolean;
  } = {},
  signal = never,
) {
  const output = testOutput({ json: options.json ?? false });
  const exitCode = await breakGlass(
    { output, home: home(), environment: { PRODUCTION_KEY: KEY } },
    {
      target: target(),
      to: options.to,
      requestedBy: { who: 'ada', from: 'cli', reason: 'it lies' },
      recorded: (deploymentId) => {
        expect(deploymentId).toBe(plane.id);
        return Promise.resolve((options.recorded ?? []).map((known) => ({ ...known, at: '' })));
      },
      wait: options.wait ?? true,
      timeoutMs: options.timeoutMs ?? 10_000,
    },
    signal,
  );
  return { exitCode, text: output.said.join('\n'), noted: output.noted.join('\n'), events: output.events };
}

describe('rolling back without Temporal', () => {
  it('restores the revision before the active one, and waits until it serves', async () => {
    const { exitCode, text } = await breaking();
    expect(exitCode).toBe(0);
    expect(plane.redeployed).toEqual([plane.revisions[1]]);
    expect(text).toContain(`revision ${plane.revisions[1]!} serves again`);
  });

  it('prints events of the restored revision, each status of it, and the outcome', async () => {
    const { events } = await breaking({ json: true });
    const [, to] = plane.revisions;
    expect(events).toMatchObject([
      { event: 'break_glass', deploymentId: plane.id, activeRevisionId: plane.revisions[0], to },
      { event: 'revision', revisionId: to, status: 'DEPLOYING' },
      { event: 'revision', revisionId: to, status: 'DEPLOYED' },
      { event: 'ended', outcome: 'rolled_back', result: null, exitCode: 0 },
    ]);
  });

  it('skips revisions that were never deployed, and those that the records call bad', async () => {
    plane.revisions.push(randomUUID());
    plane.statuses = ['DEPLOYED', 'BUILD_FAILED', 'DEPLOYED', 'DEPLOYED'];
    await breaking({ recorded: [{ revisionId: plane.revisions[2]!, verified: false }] });
    expect(plane.redeployed).toEqual([plane.revisions[3]]);
  });

  it('skips a verified revision that is in quarantine, or from which a person rolled back', async () => {
    const [, before, oldest] = plane.revisions as [string, string, string];
    const left = { revisionId: before, verified: true, quarantined: true } as const;
    await breaking({ recorded: [{ revisionId: oldest, verified: true }, left] });
    expect(plane.redeployed).toEqual([oldest]);
  });

  it('skips what the active revision is a copy of', async () => {
    const [active, original, oldest] = plane.revisions as [string, string, string];
    const recorded = [
      ...[oldest, original].map((revisionId) => ({ revisionId, verified: true })),
      { revisionId: active, verified: true, copyOf: original },
    ];
    await breaking({ recorded });
    expect(plane.redeployed).toEqual([oldest]);
  });

  it.each([[true], [false]])(
    'skips what it left itself, as a copy serves that no record has (list: %s)',
    async (offersList) => {
      plane.offersList = offersList;
      plane.revisions.unshift(randomUUID());
      const [, left, original, oldest] = plane.revisions as [string, string, string, string];
      const recorded = [oldest, original, left].map((revisionId) => ({
        revisionId,
        verified: true,
        ...(revisionId === original ? { upload: SOURCE.source_tarball_path } : {}),
      }));
      await breaking({ recorded });
      expect(plane.redeployed).toEqual([oldest]);
    },
  );

  it.each([[true], [false]])(
    'skips what is newer than what the active one replaced (list: %s)',
    async (offersList) => {
      plane.offersList = offersList;
      const [active, skipped, oldest] = plane.revisions as [string, string, string];
      const recorded = [oldest, skipped].map((revisionId) => ({ revisionId, verified: true }));
      await breaking({ recorded: [...recorded, { revisionId: active, verified: true, replaced: oldest }] });
      expect(plane.redeployed).toEqual([oldest]);
    },
  );

  it('finds the one before the active one among any number of newer ones', async () => {
    plane.revisions.push(...Array.from({ length: 2 * PAGE }, () => randomUUID()));
    plane.active = PAGE + 10;
    await breaking();
    expect(plane.redeployed).toEqual([plane.revisions[PAGE + 11]]);
  });

  it.each([
    ['has no list of revisions', { offersList: false }],
    ['lists the oldest first', { isOldestFirst: true }],
  ])('uses the good revisions of the records if the control plane %s', async (_, lists) => {
    Object.assign(plane, lists);
    const [newest, before, oldest] = plane.revisions as [string, string, string];
    const recorded = [oldest, before, newest].map((revisionId) => ({ revisionId, verified: true }));
    const { exitCode } = await breaking({ recorded });
    expect(exitCode).toBe(0);
    expect(plane.redeployed).toEqual([before]);
    // The active revision was created manually: no record knows it.
    plane.active = 0;
    await breaking({ recorded: recorded.slice(0, 2) });
    expect(plane.redeployed).toEqual([before, before]);
  });

  it('changes nothing without a list and without a good revision in the records', async () => {
    plane.offersList = false;
    await expect(
      breaking({ recorded: [{ revisionId: plane.revisions[1]!, verified: false }] }),
    ).rejects.toMatchObject({
      code: 'SLIPWAY_NOTHING_TO_RESTORE',
    });
    expect(plane.redeployed).toEqual([]);
  });

  it('restores the one that is named by its release, its id, or the beginning of that', async () => {
    const revisionId = plane.revisions[2]!;
    const recorded = [{ revisionId, verified: true, release: 'release-1' }];
    const names = ['release-1', revisionId, revisionId.slice(0, 8)];
    for (const to of names) await breaking({ to, recorded });
    expect(plane.redeployed).toEqual(names.map(() => revisionId));
  });

  it('changes nothing if no record has the name', async () => {
    const asked = breaking({ to: 'release-9' });
    await expect(asked).rejects.toMatchObject({ code: 'SLIPWAY_USAGE', message: /called "release-9"/ });
    expect(plane.redeployed).toEqual([]);
    expect(await readLocalHold(home(), target())).toBeUndefined();
  });

  it('changes nothing if Ctrl-C comes before the redeploy', async () => {
    await expect(breaking({}, AbortSignal.abort())).rejects.toMatchObject({ name: 'AbortError' });
    expect(plane.redeployed).toEqual([]);
    expect(await readLocalHold(home(), target())).toBeUndefined();
  });

  it('leaves a hold, with the person and the reason, and says where', async () => {
    const { text } = await breaking();
    expect(text).toContain(`on hold on this machine, in ${home()}, until: slipway unhold production`);
    const by = { who: 'ada', reason: 'it lies' };
    expect(await readLocalHold(home(), target())).toMatchObject({ by, to: plane.revisions[1] });
  });

  it('restores even if the hold cannot be written, and reports that', async () => {
    await writeFile(join(home(), 'holds'), 'not a folder');
    const { exitCode, noted } = await breaking();
    expect(exitCode).toBe(0);
    expect(noted).toContain('may not be on hold on this machine: the hold could not be written: ');
  });

  it('is not prevented by a damaged hold, which stays', async () => {
    await breaking();
    const [name = ''] = await readdir(join(home(), 'holds'));
    await writeFile(join(home(), 'holds', name), '{');
    expect((await breaking({ to: plane.revisions[2]! })).exitCode).toBe(0);
    await expect(readLocalHold(home(), target())).rejects.toMatchObject({ code: 'SLIPWAY_TARGET_ON_HOLD' });
  });

  it('prints the same call for a shell, without the key', async () => {
    const { text } = await breaking();
    expect(text).toContain(
      `curl -X POST -H "X-Api-Key: $PRODUCTION_KEY" ${url}/v2/deployments/${plane.id}/revisions/${plane.revisions[1]!}/redeploy`,
    );
    expect(text).not.toContain(KEY);
  });

  it('reads the deployment after an unanswered redeploy, instead of sending it again', async () => {
    plane.redeploy = 'silent_after';
    expect((await breaking()).exitCode).toBe(0);
    expect(plane.redeployed).toHaveLength(1);
  });

  it('ends as soon as the copy serves that the answer to the redeploy did not name yet', async () => {
    plane.copy = '99999999-0000-4000-8000-000000000000';
    const { exitCode, text } = await breaking();
    expect(exitCode).toBe(0);
    expect(text).toContain(`revision ${plane.copy} serves again`);
  });

  it('reports if it is unknown whether the redeploy was taken', async () => {
    plane.redeploy = 'silent_before';
    await expect(breaking()).rejects.toMatchObject({ code: 'SLIPWAY_OUTCOME_UNKNOWN', exitCode: 3 });
    expect(await readLocalHold(home(), target())).toBeDefined();
  });

  it('tries again if the control plane is busy', async () => {
    plane.busy = { GET: [503, 429], POST: [429] };
    const { exitCode, noted } = await breaking();
    expect(exitCode).toBe(0);
    expect(noted).toContain('GET /v2/deployments was answered with 503: busy; trying again in 500ms');
    expect(plane.redeployed).toEqual([plane.revisions[1]]);
  });

  it('does not send a redeploy again that a busy control plane may have accepted', async () => {
    plane.busy = { GET: [], POST: [503] };
    await expect(breaking()).rejects.toMatchObject({ code: 'SLIPWAY_OUTCOME_UNKNOWN' });
    expect(plane.redeployed).toEqual([]);
  });

  it('keeps the hold unchanged if the redeploy is rejected', async () => {
    plane.redeploy = 'refuses';
    await expect(breaking()).rejects.toMatchObject({ code: 'SLIPWAY_NOT_FOUND' });
    expect(await readLocalHold(home(), target())).toBeUndefined();
    plane.redeploy = 'answers';
    await breaking({ to: plane.revisions[2]! });
    const held = await readLocalHold(home(), target());
    plane.redeploy = 'refuses';
    await expect(breaking({ to: plane.revisions[1]! })).rejects.toMatchObject({ code: 'SLIPWAY_NOT_FOUND' });
    expect(await readLocalHold(home(), target())).toEqual(held);
  });

  it('exits 3 if the revision fails', async () => {
    plane.endsAs = 'DEPLOY_FAILED';
    const { exitCode, text } = await breaking();
    expect(exitCode).toBe(3);
    expect(text).toContain('ended DEPLOY_FAILED');
  });

  it('exits 5 on a timeout', async () => {
    plane.endsAs = 'DEPLOYING';
    const { exitCode, text } = await breaking({ timeoutMs: 100 });
    expect(exitCode).toBe(5);
    expect(text).toContain('timed out; the redeploy continues');
  });

  it('does not wait for the revision with --no-wait, and exits 0', async () => {
    plane.endsAs = 'DEPLOYING';
    const { exitCode, text } = await breaking({ wait: false });
    expect(exitCode).toBe(0);
    expect(plane.redeployed).toEqual([plane.revisions[1]]);
    expect(text).toContain(`accepted the redeploy. See: GET ${url}/v2/deployments/${plane.id}`);
  });

  it('says after Ctrl-C that it stopped watching, and exits 5', async () => {
    plane.endsAs = 'DEPLOYING';
    const interrupt = new AbortController();
    plane.onLook = () => interrupt.abort();
    const { exitCode, text } = await breaking({}, interrupt.signal);
    expect(exitCode).toBe(5);
    expect(text).toContain('stopped watching; the redeploy continues');
  });

  it('changes nothing if there is no earlier revision', async () => {
    plane.active = 2;
    // Exit code 2, as the rollback through Temporal: nothing was changed.
    await expect(breaking()).rejects.toMatchObject({ code: 'SLIPWAY_NOTHING_TO_RESTORE', exitCode: 2 });
    expect(plane.redeployed).toEqual([]);
    expect(await readLocalHold(home(), target())).toBeUndefined();
  });
});
