import { readdir, readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';

import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { expect, it } from 'vitest';

import { audit } from '../../../src/domain/audit/audit.ts';
import type { Violation } from '../../../src/domain/audit/facts.ts';
import { type AuditedHistory, readTargetFacts } from '../../../src/temporal/history/readFacts.ts';

/** Histories of an earlier Slipway, which this one cannot make. Each file is named after its failure. */
const FOLDER = new URL('histories/', import.meta.url);

const REFUSED = 'rule 5, the target: a rollback was rejected while revision-3 served and nothing ran';
const STILL_SERVES =
  'rule 5, release-3: a rollback was asked for while revision-3 served, and it serves still';
const UNWATCHED =
  'rule 6, release-2: revision-3 was abandoned, and the target did not watch it while release-3 ran';
const SENT_AGAIN =
  'rule 2, release-2: patchDeployment was sent again although the previous one may have been taken, and no read showed otherwise';
const FOLLOWED_OLD = 'rule 3, release-2: it followed revision-2, which it neither made nor asked for';

const FOUND = {
  'rollback-stopped-the-waiting-release-only': [STILL_SERVES, REFUSED],
  'rollback-stopped-the-upload-only': [STILL_SERVES],
  'rollback-put-back-what-it-was-to-leave': [STILL_SERVES],
  'rollback-refused-because-of-a-hold': [REFUSED],
  'late-revision-became-the-baseline': [
    UNWATCHED,
    'rule 6, release-3: it used the abandoned revision-3 as its baseline',
  ],
  'late-revision-served-during-an-approval': [UNWATCHED],
  'late-revision-forgotten-at-a-deadline-that-passed-unseen': [
    'rule 6, release-2: revision-3 was abandoned, and the target forgot it without a last look',
    UNWATCHED,
  ],
  'terminated-target-ran-beside-its-release': [
    'rule 1, release-1: it began to change the target while release-2 was changing it',
    'rule 1, release-1: its number 1 was given before',
    'rule 1, release-1: it was queued although the target was on hold',
    'rule 1, release-1: it was queued although sha256:78 was in quarantine',
    'rule 6, release-2: revision-3 was abandoned, and the target does not watch it',
  ],
  'two-spellings-of-one-control-plane': [
    'rule 1, target:http://localhost:8123:agent/release-1: it changed the deployment 127.0.0.1-deployment, which target:http://127.0.0.1:8123:agent was changing',
  ],
  'aborted-promotion-whose-release-went-on': [
    'rule 12, the promotion: it names no release, and release-2 ran',
  ],
  'followed-the-old-revision-that-an-answer-named': [FOLLOWED_OLD],
  'followed-the-old-revision-of-an-image-with-the-same-tag': [FOLLOWED_OLD],
  'sent-again-after-more-foreign-revisions-than-a-page-lists': [SENT_AGAIN],
  'sent-again-without-a-list-after-a-foreign-revision': [SENT_AGAIN],
  'all-went-well': [],
} satisfies Readonly<Record<string, readonly string[]>>;

it.each(Object.entries(FOUND))(
  'the audit finds in "%s" exactly the expected problem',
  async (name, found) => {
    const violations = await violationsIn(name);
    expect(violations.map((violation) => shortened(name, violation))).toEqual(found);
  },
);

it('every stored history is readable, and contains no path of the machine that recorded it', async () => {
  const files = await readdir(FOLDER);
  expect(files.sort()).toEqual(Object.keys(FOUND).map(fileOf).sort());
  for (const file of files) {
    const text = await textOf(file);
    expect(text).not.toContain('stackTrace');
    const identities = text.matchAll(/"identity":"(?<identity>[^"]*)"/g);
    const named = new Set([...identities].map(({ groups }) => groups?.['identity']));
    expect([...named].filter((identity) => identity !== 'history-service')).toEqual(['slipway-test']);
  }
});

async function violationsIn(name: string): Promise<readonly Violation[]> {
  const stored = JSON.parse(await textOf(fileOf(name))) as readonly AuditedHistory[];
  const histories = stored.map(({ workflowId, history }) => ({
    workflowId,
    history: historyFromJSON(history),
  }));
  const targets = histories.filter(({ history }) => typeOf(history) === 'target');
  const facts = [...new Set(targets.map(({ workflowId }) => workflowId))].map((workflowId) =>
    readTargetFacts(workflowId, histories),
  );
  return facts.flatMap((target) => {
    const others = facts.filter((other) => other !== target);
    return audit({ target, others, observed: null, secrets: [] });
  });
}

function typeOf({ events }: AuditedHistory['history']): string | null | undefined {
  return events?.[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name;
}

/** A violation without the common part of its file's ids. */
function shortened(name: string, { rule, workflowId, what }: Violation): string {
  return `rule ${rule}, ${workflowId}: ${what}`
    .replaceAll(new RegExp(`target:http://${name}(?:-\\d)?\\.test:agent/`, 'g'), '')
    .replaceAll(`target:http://${name}.test:agent`, 'the target')
    .replaceAll(new RegExp(`promotion:http://${name}-\\d\\.test:agent:[a-z-]+`, 'g'), 'the promotion')
    .replaceAll(`revision ${name}-`, '')
    .replaceAll(/(sha256:[1-9a-f]+)0+/g, '$1');
}

function fileOf(name: string): string {
  return `${name}.json.gz`;
}

async function textOf(file: string): Promise<string> {
  return gunzipSync(await readFile(new URL(file, FOLDER))).toString('utf8');
}
