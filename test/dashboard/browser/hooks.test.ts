import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { targetAddress } from '../../../src/domain/dashboard/addresses.ts';
import type { GuardPolicy } from '../../../src/domain/guard/guardPolicy.ts';
import { CHROMIUM } from '../../support/chromium.ts';
import type { HookUnderTest } from '../../workflows/hooks/hooksUnderTest.ts';
import type { TargetUnderTest } from '../../workflows/targetUnderTest.ts';
import { expectFits, LOOKS, press } from './dashboardUnderTest.ts';
import { useStage } from './stage.ts';

describe.skipIf(CHROMIUM === undefined)('in a browser', () => {
  const GUARD: GuardPolicy = {
    forMs: 3_600_000,
    everyMs: 1_000,
    afterMs: 0,
    noData: 'continue',
    metrics: ['error_rate', 'cost'].map((name) => ({
      name,
      source: { kind: 'http', url: `http://metrics.test/${name}?from={from}&until={until}`, path: 'value' },
      max: 0.05,
      risesBy: { by: 0.5, isRelative: true },
    })),
  };
  const RULES = `      - { name: worse-answers, do: rollback, targets: [production], approvalBetween: { from: "00:00", until: "00:00" } }
      - { name: often, do: hold, targets: [production], atLeast: { count: 5, within: 1h } }`;

  const stage = useStage();

  it('shows what a guard measures, and which event waits for approval; approves it on the page', async () => {
    const { target, hook } = await guarded();
    const { events } = await hook.send([{ fingerprint: 'a' }]);
    await hook.decided(events[0]!.id, ({ state }) => state === 'needs_approval');
    for (const look of LOOKS) {
      for (const path of ['/', targetAddress(target.workflowId)]) {
        const page = await stage().dashboard.page(path, look);
        await page.getByText('an event waits for approval').first().waitFor();
        if (path !== '/') await page.getByText(/^Measured .* and every 1/u).waitFor();
        await expectFits(page, `hooks-${look.name}${path === '/' ? '-targets' : ''}`);
        await page.context().close();
      }
    }
    const page = await open(target);
    expect(await page.getByRole('region', { name: 'Metrics of the guard' }).textContent()).toContain(
      'error_rate0 (0 in the hour before)at most 0.05, may rise by 50 %',
    );
    await page.getByRole('link', { name: 'Approve …' }).click();
    expect(await page.locator('.sentences').textContent()).toContain(
      'The rule “worse-answers” will roll back production now.',
    );
    await expectFits(page, 'hooks-approve');
    await press(page, 'Approve', 'the answers are worse');
    await page.getByText('is approved. The outcome is shown under Hooks.').waitFor();
    await page.getByRole('region', { name: 'Events of alerts' }).getByText('carried out').waitFor();
    await page.getByText('the guard ended early').waitFor();
    expect(await page.textContent('#hooks')).toContain('approved by grace (the answers are worse)');
    const { state } = await target.idle();
    expect(state.hold?.by.from).toContain('approved by grace');
    await page.context().close();
  });

  it('rejects an event, and says in words that it was answered meanwhile', async () => {
    const { target, hook } = await guarded();
    const waits = async (fingerprint: string): Promise<string> => {
      const { events } = await hook.send([{ fingerprint }]);
      await hook.decided(events[0]!.id, ({ state }) => state === 'needs_approval');
      return events[0]!.id;
    };
    const first = await waits('a');
    const page = await open(target);
    await page.getByRole('link', { name: 'Reject …' }).click();
    await press(page, 'Reject', 'a known problem');
    await page.getByText('is rejected: nothing is changed.').waitFor();
    expect(await hook.decided(first)).toMatchObject({ state: 'rejected' });

    const second = await waits('b');
    await page.goto(stage().dashboard.url + targetAddress(target.workflowId));
    await page.getByRole('link', { name: 'Approve …' }).click();
    await page.getByLabel('Reason').waitFor();
    await hook.answer(second, false);
    await press(page, 'Approve', 'too late');
    await page.getByText(`Not done: no event "${second}" waits for approval`).waitFor();
    expect(await page.textContent('main')).toContain('SLIPWAY_WRONG_MOMENT');
    expect(await page.textContent('main')).toContain('the event waits for no approval any more');
    expect((await target.view()).state.hold).toBeNull();
    await page.context().close();
  });

  async function guarded(): Promise<{ readonly target: TargetUnderTest; readonly hook: HookUnderTest }> {
    const { target } = stage().harness.newServingTarget();
    const request = target.request('b', { guard: GUARD });
    await target.release({ ...request, target: { ...request.target, name: 'production' } });
    return { target, hook: stage().hooks.make({ target, rules: RULES }) };
  }

  /** A target's page. Temporal lists a new target and a new hook with a delay. */
  async function open(target: TargetUnderTest): Promise<Page> {
    const page = await stage().dashboard.page(targetAddress(target.workflowId), { width: 1440 });
    await page.getByRole('link', { name: 'Approve …' }).waitFor();
    return page;
  }
});
