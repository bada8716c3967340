import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { signature } from '../../../src/clients/notify/webhook.ts';
import { NOTICE_EVENTS } from '../../../src/domain/notify/notice.ts';
import { notice } from '../../domain/notify/notices.ts';

const page = readFileSync(new URL('../../../docs/notifications.md', import.meta.url), 'utf8');

/** The first block of code in a language that the page has. */
function block(language: string): string {
  return new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'msu').exec(page)?.[1] ?? '';
}

type Verify = (header: string | undefined, body: string, secret: string, now?: number) => boolean;

describe('the signature check on the page of notifications', async () => {
  const module = `data:text/javascript,${encodeURIComponent(block('js'))}`;
  const { isFromSlipway } = (await import(module)) as { isFromSlipway: Verify };
  const body = JSON.stringify(notice({ reason: 'Grüße' }));
  const header = signature(body, 'the key', 1_000);

  it('accepts a body that was signed with the secret at the time', () => {
    expect(isFromSlipway(header, body, 'the key', 1_010)).toBe(true);
  });

  it.each<[string, Parameters<Verify>]>([
    ['another body', [header, `${body} `, 'the key', 1_010]],
    ['another secret', [header, body, 'another key', 1_010]],
    ['another time', [header.replace('t=1000', 't=1001'), body, 'the key', 1_010]],
    ['what is too old: sent once more by somebody else', [header, body, 'the key', 1_301]],
    ['no signature', [undefined, body, 'the key', 1_010]],
  ])('rejects %s', (_, [...sent]) => {
    expect(isFromSlipway(...sent)).toBe(false);
  });
});

it('the page of notifications shows a notice with its actual fields', () => {
  const shown = JSON.parse(block('json')) as object;
  expect(Object.keys(shown).sort()).toEqual([...Object.keys(notice()), 'dashboardUrl'].sort());
});

it('the page of notifications describes every event', () => {
  expect(NOTICE_EVENTS.filter((event) => !page.includes(`\`${event}\``))).toEqual([]);
});
