import { randomUUID } from 'node:crypto';

import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';

import {
  promotionActionAddress,
  releaseActionAddress,
  type TargetAction,
  targetActionAddress,
} from '../../../src/dashboard/actions/actionAddresses.ts';
import { releaseAddress, targetAddress } from '../../../src/domain/dashboard/addresses.ts';
import type { InterventionKind } from '../../../src/domain/intervention/intervention.ts';
import type { ReleaseRequest } from '../../../src/domain/release/release.ts';
import { notTaken } from '../../workflows/faults.ts';
import { identity } from '../../workflows/requests.ts';
import type { TargetUnderTest } from '../../workflows/targetUnderTest.ts';
import { CHROMIUM } from '../../support/chromium.ts';
import { expectFits, listed, LOOKS, press } from './dashboardUnderTest.ts';
import { useStage } from './stage.ts';

describe.skipIf(CHROMIUM === undefined)('in a browser', () => {
  const KEY = 'a key that a small team shares';
  const WIDE = { width: 1440 };

  const stage = useStage({ way: 'key', key: KEY });
  /** The browser of a second person. The releases are ada's. */
  let bo: Page;
  let cy: Page;
  let ada: Page;
  beforeAll(async () => {
    [bo, cy, ada] = await Promise.all([signedIn('bo'), signedIn('cy'), signedIn('ada')]);
  });

  it('rolls back to a chosen revision with a confirmation, and ends the hold', async () => {
    const target = await serving('a', 'b', 'c');
    await goTo(bo, target, 'rollback');
    expect(await said(bo)).toMatch(/Serves now: revision \S+ \(release-3, commit cccccccccc/u);
    const first = bo.getByRole('radio', { name: /^release-1, / });
    expect(await bo.locator('.choice', { has: first }).textContent()).toContain(
      '(release-1, commit aaaaaaaaaa',
    );
    for (const look of LOOKS) {
      await bo.setViewportSize({ width: look.width, height: 900 });
      await bo.emulateMedia({ colorScheme: look.dark === true ? 'dark' : 'light' });
      await expectFits(bo, `rollback-${look.name}`);
    }
    await bo.setViewportSize({ width: 1440, height: 900 });
    await first.check();
    await press(bo, 'Roll back', 'c answers in French');
    await bo.getByText('The rollback is accepted: ').waitFor();
    const { state } = await target.idle();
    expect(state.history.at(-1)).toMatchObject({
      outcome: 'rolled_back',
      requestedBy: { who: 'bo', from: 'dashboard', reason: 'c answers in French' },
    });
    expect(state.history.at(-1)?.servingRevisionId).not.toBe(state.history.at(-2)?.servingRevisionId);
    await goTo(bo, target, 'unhold');
    expect(await said(bo)).toContain('set by bo: c answers in French');
    await press(bo, 'End the hold', 'repaired');
    await bo.getByText('accepts releases').first().waitFor();
    expect((await target.view()).state.hold).toBeNull();
  });

  it('holds, quarantines and ends a quarantine without a script', async () => {
    const target = await serving('a', 'b');
    const plain = await signedIn('bo', false);
    await goTo(plain, target, 'hold');
    await press(plain, 'Hold', 'merge day');
    await plain.getByText('is on hold: it rejects releases.').waitFor();
    await goTo(plain, target, 'hold');
    expect(await plain.textContent('main')).toContain('not possible now: the target is on hold already');
    await goTo(plain, target, 'quarantine');
    await plain.getByRole('radio').nth(1).check();
    await press(plain, 'Quarantine', 'leaks memory');
    await plain.getByText('is in quarantine on').waitFor();
    const { quarantined, hold } = (await target.view()).state;
    expect(quarantined).toMatchObject([
      { artifact: identity('a'), by: { who: 'bo', reason: 'leaks memory' } },
    ]);
    expect(hold?.by).toEqual({ who: 'bo', from: 'dashboard', reason: 'merge day' });
    await goTo(plain, target, 'unquarantine');
    await press(plain, 'End the quarantine', 'repaired');
    await plain.getByText('is not in quarantine on').waitFor();
    expect((await target.view()).state.quarantined).toEqual([]);
    await plain.context().close();
  });

  it('the releaser cannot approve; another person can approve or reject', async () => {
    const target = await serving('a');
    const approval = { required: 1, withinMs: 3_600_000 };
    const waits = async (artifact: string): Promise<string> => {
      const { releaseId } = await target.submit(artifact, { approval });
      await target.waitsFor(releaseId, 'approval');
      return releaseId;
    };
    const approved = await waits('b');
    await say(ada, target, approved, 'approve');
    expect(await ada.textContent('main')).toContain('the person who asked for it cannot approve it');
    await ada.goto(stage().dashboard.url + targetAddress(target.workflowId));
    await ada.getByText('You cannot approve: the person who asked for it cannot approve it.').waitFor();
    expect(await ada.getByRole('link', { name: 'Approve …' }).count()).toBe(0);

    await bo.goto(stage().dashboard.url + targetAddress(target.workflowId));
    await bo.getByRole('link', { name: 'Approve …' }).click();
    expect(await said(bo)).toContain('With your approval it continues immediately.');
    await press(bo, 'Approve', 'read it');
    await bo.getByText('Approve: approved by 1 of 1.').waitFor();
    expect(await target.result(approved)).toMatchObject({ outcome: 'released' });

    const rejected = await waits('c');
    await say(bo, target, rejected, 'reject');
    await press(bo, 'Reject', 'not today');
    await bo.getByText('Reject: the release ends, and nothing is changed.').waitFor();
    expect(await target.result(rejected)).toMatchObject({ outcome: 'aborted' });
  });

  it('pauses and resumes with the keyboard only', async () => {
    const { target, gate, releaseId } = await releasing('uploadArtifact');
    await cy.goto(stage().dashboard.url + targetAddress(target.workflowId));
    await tabTo(cy, 'Pause …');
    await cy.keyboard.press('Enter');
    await cy.waitForURL(/\/pause$/u);
    await tabTo(cy, 'reason');
    await cy.keyboard.type('lunch');
    await cy.keyboard.press('Tab');
    await cy.keyboard.press('Enter');
    await cy.getByText('Pause: no further step begins').waitFor();
    gate.open();
    await target.waitsFor(releaseId, 'resume');
    await say(cy, target, releaseId, 'resume');
    await press(cy, 'Resume', 'back');
    await cy.getByText('Resume: the release continues.').waitFor();
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
  });

  it('pressing twice sends one message, also after the release has ended', async () => {
    const { target, gate, releaseId } = await releasing('uploadArtifact');
    await say(bo, target, releaseId, 'abort');
    const again = await resend(bo, 'twice');
    const answers = await Promise.all([again(), again()]);
    gate.open();
    const { interventions } = await target.result(releaseId);
    expect(answers.map((status) => status)).toEqual([303, 303]);
    expect(await again()).toBe(303);
    expect(interventions).toMatchObject([{ kind: 'abort', taken: true, by: { who: 'bo', reason: 'twice' } }]);
  });

  it('skips a check, and retries a step whose outcome is unknown', async () => {
    const target = await serving('a');
    const waits = async (artifact: string): Promise<string> => {
      target.world.next('runCheck', notTaken(), notTaken());
      const { releaseId } = await target.submit(artifact, { onError: { then: 'wait', waitMs: 600_000 } });
      await target.waitsFor(releaseId, 'decision');
      return releaseId;
    };
    const retried = await waits('b');
    await say(bo, target, retried, 'retry');
    expect(await said(bo)).toContain('It waits for a decision: its outcome is unknown');
    await press(bo, 'Retry', 'it is back');
    await bo.getByText('Retry: the step is retried.').waitFor();
    expect(await target.result(retried)).toMatchObject({ outcome: 'released' });
    const skipped = await waits('c');
    await say(bo, target, skipped, 'skip');
    expect(await bo.getByRole('radio').count()).toBe(1);
    await press(bo, 'Skip', 'its provider is away');
    await bo.getByText('Skip: check "greets" is left out.').waitFor();
    expect(await target.result(skipped)).toMatchObject({ outcome: 'released', servingVerified: false });
  });

  it('withdraws a release that waits, from the target that the link to the release leads to', async () => {
    const { target, gate } = await releasing('uploadArtifact');
    const { releaseId } = await target.submit('c');
    await bo.goto(stage().dashboard.url + releaseAddress(target.workflowId, releaseId));
    await bo.locator('.queue').getByRole('link', { name: 'Abort …' }).click();
    expect(await said(bo)).toContain('It has not begun: it is withdrawn, and ends “aborted”.');
    await press(bo, 'Abort', 'not today');
    await bo.getByText('Abort: it waited, and is withdrawn before it began.').waitFor();
    gate.open();
    expect((await target.idle()).state.history.map(({ outcome }) => outcome)).toContain('aborted');
  });

  it('refuses an answer to a question that another person has answered since', async () => {
    const target = await serving('a');
    target.world.next('runCheck', notTaken(), notTaken(), notTaken(), notTaken());
    const { releaseId } = await target.submit('b', { onError: { then: 'wait', waitMs: 600_000 } });
    const asked = (after?: string) =>
      target.progressOnce(releaseId, ({ waiting }) => waiting?.for === 'decision' && waiting.since !== after);
    const { waiting } = await asked();
    await Promise.all([say(bo, target, releaseId, 'retry'), say(cy, target, releaseId, 'retry')]);
    await press(cy, 'Retry', 'it is back');
    await asked(waiting?.since);
    await press(bo, 'Retry', 'it is back');
    await bo.getByText('Not done: the form was shown before this hold or question').waitFor();
    await press(bo, 'Retry', 'and again');
    await bo.getByText('Retry: the step is retried.').waitFor();
    const { outcome, interventions } = await target.result(releaseId);
    expect(outcome).toBe('released');
    expect(interventions.map(({ by }) => by.reason)).toEqual(['it is back', 'and again']);
  });

  it('shows what is missing, and keeps the typed text', async () => {
    const target = await serving('a');
    await goTo(bo, target, 'hold');
    await bo.evaluate("document.querySelector('textarea').required = false");
    await bo.getByLabel('Reason').fill('   ');
    await bo.getByRole('button', { name: 'Hold' }).click();
    await bo.getByText('Not done: a reason is missing').waitFor();
    expect((await target.view()).state.hold).toBeNull();
  });

  it('approves a promotion', async () => {
    const { harness, promotions, dashboard } = stage();
    const { target: canary } = harness.newServingTarget();
    const { target: production } = harness.newServingTarget();
    await canary.release('b');
    const approval = { required: 1, withinMs: 3_600_000 };
    const name = `up-${randomUUID().slice(0, 8)}`;
    const promotion = await promotions.start(canary, production, { name, approval });
    await promotion.waitsFor('approval');
    const { workflowId } = await promotion.history();
    await bo.goto(dashboard.url + promotionActionAddress(workflowId, 'approve'));
    expect(await bo.textContent('main')).toContain(`Approve the promotion ${name}`);
    await press(bo, 'Approve', 'soaked long enough');
    await bo.getByText('Approve: approved by 1 of 1.').waitFor();
    expect(await promotion.result()).toMatchObject({ outcome: 'released' });
  });

  /** A target that has released these artifacts, and that the page lists. */
  async function serving(...artifacts: readonly string[]): Promise<TargetUnderTest> {
    const target = stage().harness.newTarget();
    for (const artifact of artifacts) await target.release(named(target, artifact));
    await listed(bo, stage().dashboard.url + targetAddress(target.workflowId));
    return target;
  }

  /** A target that serves a release, and whose next one waits in an activity until the gate opens. */
  async function releasing(activity: 'uploadArtifact' | 'patchDeployment') {
    const target = await serving('a');
    const gate = target.world.gate(activity);
    const { releaseId } = await target.submit('b');
    await target.world.called(activity);
    return { target, gate, releaseId };
  }

  function named(target: TargetUnderTest, artifact: string): ReleaseRequest {
    return target.request(artifact, { commit: artifact.repeat(40) });
  }

  async function signedIn(name: string, javaScript = true): Promise<Page> {
    const page = await stage().dashboard.page('/history', WIDE, javaScript);
    await page.getByLabel('Your name').fill(name);
    await page.getByLabel('Key', { exact: true }).fill(KEY);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'History' }).waitFor();
    return page;
  }

  async function goTo(page: Page, target: TargetUnderTest, action: TargetAction): Promise<void> {
    await page.goto(stage().dashboard.url + targetActionAddress(target.workflowId, action));
  }

  async function say(
    page: Page,
    target: TargetUnderTest,
    releaseId: string,
    kind: InterventionKind,
  ): Promise<void> {
    await page.goto(stage().dashboard.url + releaseActionAddress(target.workflowId, releaseId, kind));
  }

  async function said(page: Page): Promise<string> {
    return (await page.locator('.sentences').textContent()) ?? '';
  }

  /** Prepares to send the same form of a page repeatedly. */
  async function resend(page: Page, reason: string): Promise<() => Promise<number>> {
    const form: Record<string, string> = { reason };
    for (const input of await page.locator('form[method=post] input[type=hidden]').all())
      form[(await input.getAttribute('name')) ?? ''] = (await input.getAttribute('value')) ?? '';
    const url = page.url();
    const headers = { origin: new URL(url).origin };
    return async () => (await page.context().request.post(url, { form, headers, maxRedirects: 0 })).status();
  }

  /** Presses Tab until a link's text or a field's name has the focus. */
  async function tabTo(page: Page, wanted: string): Promise<void> {
    for (let presses = 0; presses < 80; presses++) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate(
        "document.activeElement.getAttribute('name') ?? document.activeElement.textContent.trim()",
      );
      if (focused === wanted) return;
    }
    throw new Error(`no tabulator leads to ${wanted}`);
  }
});
