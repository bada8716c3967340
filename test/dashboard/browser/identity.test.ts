import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { openArtifactStore } from '../../../src/artifact/openArtifactStore.ts';
import { keepProof } from '../../../src/cli/identity.ts';
import {
  promotionActionAddress,
  releaseActionAddress,
  targetActionAddress,
} from '../../../src/dashboard/actions/actionAddresses.ts';
import { promotionAddress, releaseAddress } from '../../../src/domain/dashboard/addresses.ts';
import { promotionIdAt } from '../../../src/domain/promotion/promotion.ts';
import { readTrust, Verifier } from '../../../src/identity/verifier.ts';
import { type PeopleAtIssuer, peopleAtIssuer } from '../../identity/peopleAtIssuer.ts';
import { CHROMIUM } from '../../support/chromium.ts';
import { useFolder } from '../../support/temporaryFolder.ts';
import type { TargetUnderTest } from '../../workflows/targetUnderTest.ts';
import { CLIENT_ID, CLIENT_SECRET, startIssuer, type TestIssuer } from '../access/testIssuer.ts';
import { listed, press, screenshot, violations } from './dashboardUnderTest.ts';
import { openStage, type Stage } from './stage.ts';

const APPROVAL = { required: 1, withinMs: 3_600_000, identity: 'oidc' } as const;

/** People who release use the command, with an issuer of their own. People who press buttons sign in to the page. */
describe.skipIf(CHROMIUM === undefined)('a person who signed in at an issuer, in a browser', () => {
  let people: PeopleAtIssuer;
  let issuer: TestIssuer;
  let stage: Stage;
  const folder = useFolder();
  let ben: Page;
  beforeAll(async () => {
    people = await peopleAtIssuer('ada');
    issuer = await startIssuer();
    stage = await openStage({
      way: 'oidc',
      issuer: new URL(issuer.url),
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      scope: 'openid email profile',
      roles: { claim: 'roles' },
    });
    issuer.register(`${stage.dashboard.url}/sign-in/callback`, { conformIdTokenClaims: false });
    ben = await signedIn('ben');
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await stage.close();
    await Promise.all([people.close(), issuer.close()]);
  });

  it('proves their identity when they approve; the record and the page show it', async () => {
    const target = await serving();
    const releaseId = await waiting(target, 'b');
    const [ada, address] = [
      await signedIn('ada'),
      releaseActionAddress(target.workflowId, releaseId, 'approve'),
    ];
    await ada.goto(stage.dashboard.url + address);
    // Her proof says ada; the issuer of the page, ada@example.com. The worker has verified that they are one.
    await ada.getByText('the person who asked for it cannot approve it').waitFor();
    await ben.goto(stage.dashboard.url + address);
    await press(ben, 'Approve', 'read it');
    await ben.getByText('Approve: approved by 1 of 1.').waitFor();
    const { outcome, requestedBy, interventions } = await target.result(releaseId);
    expect([outcome, requestedBy.proved?.subject]).toEqual(['released', 'ada']);
    expect(interventions.at(-1)).toMatchObject({ kind: 'approve', taken: true, by: benProved() });
    expect(await proofs(target)).toEqual([]);
    await ben.goto(stage.dashboard.url + releaseAddress(target.workflowId, releaseId));
    await ben.getByText(`by ben@example.com (proved by ${issuer.url})`).first().waitFor();
    await screenshot(ben, 'approved-with-proof');
    expect(await violations(ben)).toEqual([]);
  });

  it('proves their identity when they reject and when they roll back', async () => {
    const target = await serving();
    const released = await waiting(target, 'b');
    await say(target, released, 'approve', 'Approve');
    await target.result(released);
    const rejected = await waiting(target, 'c');
    await say(target, rejected, 'reject', 'Reject');
    const { reason, interventions } = await target.result(rejected);
    expect(reason).toContain('rejected by ben@example.com');
    expect(interventions).toMatchObject([{ kind: 'reject', taken: true, by: benProved() }]);
    await ben.goto(stage.dashboard.url + targetActionAddress(target.workflowId, 'rollback'));
    const proving = target.world.gate('redeployRevision');
    await press(ben, 'Roll back', 'it lies');
    await ben.getByText('The rollback is accepted: ').waitFor();
    await expect.poll(() => proofs(target)).toEqual([]);
    proving.open();
    const { state } = await target.idle();
    expect(state.history.at(-1)).toMatchObject({ kind: 'rollback', requestedBy: benProved() });
  });

  it('proves their identity when they approve a promotion', async () => {
    const { target: canary } = stage.harness.newServingTarget();
    await canary.release('b');
    const production = await serving();
    const [store, name] = [storeOf(production), 'up'];
    const workflowId = promotionIdAt(production.workflowId, name);
    const requestId = 'ada promotes';
    const identity = await keepProof(people.environmentOf('ada'), openArtifactStore(store), {
      action: 'promote',
      workflowId,
      requestId,
    });
    const changes = { name, store, approval: APPROVAL, asked: { requestId, identity } };
    const promotion = await stage.promotions.start(canary, production, changes);
    await promotion.waitsFor('approval');
    await ben.goto(stage.dashboard.url + promotionActionAddress(workflowId, 'approve'));
    await press(ben, 'Approve', 'soaked long enough');
    await ben.getByText('Approve: approved by 1 of 1.').waitFor();
    expect(await promotion.result()).toMatchObject({
      outcome: 'released',
      requestedBy: { proved: { subject: 'ada' } },
      interventions: [{ kind: 'approve', taken: true, by: benProved() }],
    });
    await ben.goto(stage.dashboard.url + promotionAddress(workflowId));
    await ben.getByText(`ben@example.com (proved by ${issuer.url})`).first().waitFor();
  });

  it('rejects under an unverified name if the browser has no proof, and the page shows it', async () => {
    const target = await serving();
    const releaseId = await waiting(target, 'b');
    const other = await signedIn('ben');
    await other.context().clearCookies({ name: /identity/u });
    await other.goto(stage.dashboard.url + releaseActionAddress(target.workflowId, releaseId, 'approve'));
    await press(other, 'Approve', 'read it');
    await other.getByText('SLIPWAY_IDENTITY_UNPROVED').waitFor();
    await other.goto(stage.dashboard.url + releaseActionAddress(target.workflowId, releaseId, 'reject'));
    await press(other, 'Reject', 'not today');
    await other.getByText('The record has a claimed name, because this session has no ID token').waitFor();
    const { outcome, interventions } = await target.result(releaseId);
    expect(outcome).toBe('aborted');
    expect(interventions[0]!.by).toEqual({
      who: 'ben@example.com',
      from: 'dashboard, signed in with OIDC',
      reason: 'not today',
    });
  });

  function benProved() {
    return {
      who: 'ben@example.com',
      from: 'dashboard, signed in with OIDC',
      proved: { issuer: issuer.url, subject: 'ben', email: 'ben@example.com' },
    };
  }

  /** A target that serves a release and is listed on the page. Its worker trusts both issuers. */
  async function serving(): Promise<TargetUnderTest> {
    const target = stage.harness.newTarget();
    const environment = { SLIPWAY_OIDC_ISSUER: issuer.url, SLIPWAY_OIDC_CLIENT_ID: CLIENT_ID };
    target.world.proofsInFolder = true;
    target.world.verifier = new Verifier([
      ...readTrust(people.environmentOf('ada')),
      ...readTrust(environment),
    ]);
    await target.release('a');
    await listed(ben, stage.dashboard.url + targetActionAddress(target.workflowId, 'hold'));
    return target;
  }

  /** The folder of the target's world, which the harness knows by name. */
  function storeOf({ world }: TargetUnderTest): string {
    return pathToFileURL(join(folder, world.id)).href;
  }

  function proofs(target: TargetUnderTest): Promise<readonly string[]> {
    return openArtifactStore(storeOf(target)).listRecords('_identities/');
  }

  /** A release by ada that waits for approval. */
  async function waiting(target: TargetUnderTest, artifact: string): Promise<string> {
    const recordStore = storeOf(target);
    const { workflowId } = target;
    const { requestKey: requestId } = target.request(artifact);
    const statement = { action: 'release', workflowId, requestId } as const;
    const identity = await keepProof(people.environmentOf('ada'), openArtifactStore(recordStore), statement);
    const { releaseId } = await target.submit(artifact, { approval: APPROVAL, recordStore, identity });
    await target.waitsFor(releaseId, 'approval');
    return releaseId;
  }

  async function say(
    target: TargetUnderTest,
    releaseId: string,
    kind: 'approve' | 'reject',
    button: string,
  ): Promise<void> {
    await ben.goto(stage.dashboard.url + releaseActionAddress(target.workflowId, releaseId, kind));
    await press(ben, button, 'a reason');
    await ben.locator('.notice.done').waitFor();
  }

  async function signedIn(login: string): Promise<Page> {
    const page = await stage.dashboard.page('/history', { width: 1440 });
    await page.locator('[name=login]').fill(login);
    await page.locator('[name=password]').fill('any');
    await page.locator('[type=submit]').click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: 'History' }).waitFor();
    return page;
  }
});
