import type { ReceiverSpec } from '../../../src/domain/notify/notice.ts';
import { promotionRequest } from '../promotion/promotionsUnderTest.ts';
import type { HookUnderTest } from '../hooks/hooksUnderTest.ts';
import type { Life } from './life.ts';

/** Lives in which targets are asked by what hooks were told. */
export const HOOKS: Readonly<Record<string, Life>> = {
  hooks: async (harness, _, hooks) => {
    const { target: canary } = harness.newServingTarget();
    const { target } = harness.newServingTarget();
    await canary.release('b');
    const notify: ReceiverSpec[] = [
      { kind: 'slack', name: 'ops', url: { from: 'env:SLACK_URL' }, events: ['hook_waiting'] },
    ];
    await target.release('b');
    const rules = [
      rule('young', 'rollback', 'ifYoungerThan: 1h, hold: false'),
      rule('late', 'rollback', 'approvalBetween: { from: "00:00", until: "00:00", within: 1s }'),
      rule('asked', 'rollback', 'approvalBetween: { from: "00:00", until: "00:00", within: 1h }'),
      rule('many', 'hold', 'atLeast: { count: 2, within: 1h }, atMostOnePer: 1h'),
      rule('stop', 'abort', ''),
      rule('again', 'release', ''),
      `      - { name: next, match: { labels.alertname: next }, do: promotion, promotion: to-production }`,
    ].join('\n');
    const requests = {
      release: target.request('c', { notify }),
      promotion: promotionRequest(canary, target),
    };
    const hook = hooks.make({ target, rules, requests });
    await hook.start(60);
    await told(hook, 'young', { startsAt: '2026-01-01T00:00:00Z' });
    await told(hook, 'young');
    await target.idle();
    await told(hook, 'unknown');
    await told(hook, 'stop');
    await told(hook, 'again');
    await told(hook, 'next');
    await told(hook, 'many');
    await told(hook, 'many');
    await told(hook, 'many');
    const rejected = await told(hook, 'asked');
    await hook.answer(rejected, false);
    await hook.decided(rejected, ({ state }) => state === 'rejected');
    const late = await told(hook, 'late');
    await hook.decided(late, ({ state }) => state === 'rejected');
    const approved = await told(hook, 'asked');
    await hook.answer(approved, true);
    await hook.decided(approved, ({ state }) => state === 'carried_out');
    while ((await hook.histories()).length < 2) await told(hook, 'many');
    return undefined;
  },
};

function rule(name: string, action: string, guards: string): string {
  const more = guards === '' ? '' : `, ${guards}`;
  return `      - { name: ${name}, match: { labels.alertname: ${name} }, do: ${action}, targets: [production]${more} }`;
}

let number = 0;

/** Tells a hook of one more alert. @returns the event's id, once it is decided. */
async function told(
  hook: HookUnderTest,
  name: string,
  alert: { readonly startsAt?: string } = {},
): Promise<string> {
  const { events } = await hook.send([{ name, fingerprint: `fp-${number++}`, ...alert }]);
  const { id = '', disposition } = events[0] ?? {};
  if (disposition === 'taken') await hook.decided(id);
  return id;
}
