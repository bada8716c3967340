import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

import { pastOfWork } from '../../../src/domain/release/pastRelease.ts';
import { type AuditedHistory, readTargetFacts } from '../../../src/temporal/history/readFacts.ts';

const STORED = fileURLToPath(new URL('../../histories/approvals.1.release.json', import.meta.url));

it('a release is reconstructed from its own history, ended or running', () => {
  const { history } = JSON.parse(readFileSync(STORED, 'utf8'), asFetched) as AuditedHistory;
  const past = (events: AuditedHistory['history']['events']) => {
    const own = { workflowId: 'target:t/release-1', history: { events } } as AuditedHistory;
    return readTargetFacts('target:t', [own]).works.map(pastOfWork)[0];
  };
  const startedAt = history.events?.[0]?.eventTime;
  const ended = past(history.events);
  expect(ended).toMatchObject({
    kind: 'release',
    outcome: 'released',
    startedAt: new Date(
      Number(startedAt?.seconds) * 1_000 + (startedAt?.nanos ?? 0) / 1_000_000,
    ).toISOString(),
  });
  expect(past(history.events?.slice(0, 8))).toEqual({
    ...ended,
    releaseId: 'release-1',
    outcome: 'running',
    reason: null,
    endedAt: null,
    revisionId: null,
    servingRevisionId: null,
  });
});

/** Converts a stored JSON history's times and payloads to the types of Temporal's client. */
function asFetched(name: string, value: unknown): unknown {
  if (name === 'eventTime')
    return {
      seconds: Math.floor(Date.parse(String(value)) / 1_000),
      nanos: (Date.parse(String(value)) % 1_000) * 1_000_000,
    };
  const isPayload = typeof value === 'string' && (name === 'data' || name === 'encoding');
  return isPayload ? Buffer.from(value, 'base64') : value;
}
