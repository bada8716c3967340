import { expect, it } from 'vitest';

import { exactText } from '../../../src/domain/scalars.ts';
import { hookWaitingNotice } from '../../../src/domain/notify/noticeContent.ts';
import { NOTICE_EVENTS } from '../../../src/domain/notify/notice.ts';
import {
  describeUndelivered,
  noticeTitle,
  shortText,
  slackText,
} from '../../../src/domain/notify/noticeText.ts';
import { noteUndelivered } from '../../../src/domain/target/targetState.ts';
import { NOW, seasoned } from '../target/targets.ts';
import { notice, sentNotice } from './notices.ts';
import { KEPT } from '../../hooks/hookRequests.ts';

it.each(NOTICE_EVENTS)('the title of %s has the target and the event', (event) => {
  const title = noticeTitle(notice({ event }));
  expect(title).toMatch(/^production\b.{5,}/u);
});

it('a message for Slack has what happened, why, the subject, and the requester', () => {
  expect(slackText(sentNotice())).toBe(
    [
      '*production: release-3 is released*',
      'revision r3 is deployed, serves, and passed its checks',
      'sha256:5068ba98bbac · commit c0ffee000000 · by ada: a reason',
    ].join('\n'),
  );
});

it('a message for Slack about an event has the commands that approve and reject it', () => {
  const work = { event: { id: 'e1', title: 'AnswersWorse', status: 'firing' }, rule: 'worse' } as const;
  const order = { target: 'production', workflowId: 'target:1', do: 'rollback', kept: KEPT } as const;
  const waiting = { until: NOW, note: 'a person must approve' };
  const text = slackText(sentNotice(hookWaitingNotice('alerts', work, order, waiting)));
  expect(text.split('\n')).toEqual([
    '*production: event e1 waits for a person*',
    `AnswersWorse: to roll back production, a person must approve, until ${exactText(NOW)}`,
    'by hook alerts: AnswersWorse',
    '```',
    'slipway hooks approve e1',
    'slipway hooks reject e1',
    '```',
  ]);
});

it('a message for Slack links to the dashboard, if its address is known, before the instructions', () => {
  const dashboardUrl = 'https://slipway.example.com/releases/target%3Ax/release-3';
  const lines = slackText(sentNotice({ dashboardUrl, instructions: 'Look.' })).split('\n');
  expect(lines.slice(3)).toEqual([`<${dashboardUrl}|Open the page>`, '```', 'Look.', '```']);
});

it('a message for Slack has the complete instructions if a person is needed, with escaped markup', () => {
  const instructions = `1. Look:\n     curl "http://x/?a=1&b=<id>"\n${'     and so on\n'.repeat(400)}2. Done.`;
  const text = slackText(sentNotice({ event: 'rollback_failed', reason: 'r '.repeat(5_000), instructions }));
  expect(text.split('\n')[0]).toBe('*production NEEDS A PERSON: release-3 ended rollback failed*');
  expect(text).toContain('curl "http://x/?a=1&amp;b=&lt;id&gt;"');
  expect(text.endsWith('2. Done.\n```')).toBe(true);
});

it('external text cannot mention a channel, nor end a block of code', () => {
  const text = slackText(sentNotice({ reason: '<!channel> look', instructions: 'a ``` b' }));
  expect(text).not.toContain('<!channel>');
  expect(text.match(/```/gu)).toHaveLength(2);
});

it('a description for GitHub begins with the release, is one line, and fits the limit', () => {
  expect(shortText(notice({ reason: 'all\n went  well' }))).toBe('release-3: all went well');
  expect(shortText(notice({ reason: 'x'.repeat(500) }))).toHaveLength(140);
  const emojis = shortText(notice({ reason: '🎉'.repeat(500) }));
  expect(Array.from(emojis)).toHaveLength(140);
  expect(emojis).not.toMatch(/\p{Surrogate}/u);
});

const WARNING = { at: NOW, receiver: 'ops', event: 'released', name: 'release-3', reason: 'it is away' };

it('the newest failed notices are kept, within a limit', () => {
  let state = seasoned();
  for (let number = 1; number <= 100; number++) {
    state = noteUndelivered(state, { ...WARNING, name: `release-${number}`, reason: 'x'.repeat(1_000) });
  }
  const kept = state.undelivered ?? [];
  expect(kept.at(-1)?.name).toBe('release-100');
  expect(JSON.stringify(kept).length).toBeLessThan(31_000);
});

it('a warning names the receiver, the notice and the reason', () => {
  expect(describeUndelivered(WARNING)).toBe(
    `"ops" could not be notified of released of release-3; Slipway gave up at ${exactText(NOW)}: it is away`,
  );
  expect(describeUndelivered({ ...WARNING, event: 'hold_set', name: null })).toContain(
    'of hold_set; Slipway gave up',
  );
});
