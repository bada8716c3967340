import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, inject, it } from 'vitest';

import type { Outcome } from '../../src/domain/release/outcome.ts';
import * as ofHooks from '../../src/messages/hooks.ts';
import * as ofPreviews from '../../src/messages/preview.ts';
import * as ofPlaces from '../../src/messages/promotion.ts';
import * as ofPollers from '../../src/messages/revisionPoller.ts';
import * as ofReleases from '../../src/messages/release.ts';
import * as ofTargets from '../../src/messages/target.ts';
import type { TargetInput } from '../../src/messages/workflowTypes.ts';
import * as workflows from '../../src/workflows/index.ts';
import { replayFailures } from './harness.ts';
import type { RecordedHistory } from './recordedHistory.ts';
import { IDENTITY } from './targetUnderTest.ts';

const FOLDER = new URL('../histories/', import.meta.url);

interface Stored {
  readonly file: string;
  readonly text: string;
  readonly stored: RecordedHistory;
}

/** Stored histories as JSON, in the format of Temporal's own tools. */
async function storedHistories(): Promise<Stored[]> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.json'));
  return Promise.all(
    files.map(async (file) => {
      const text = await readFile(new URL(file, FOLDER), 'utf8');
      return { file, text, stored: JSON.parse(text) as RecordedHistory };
    }),
  );
}

it('every stored history replays: workflow code makes the same decisions as when it was recorded', async () => {
  const stored = (await storedHistories()).map((history) => history.stored);
  expect(stored.length).toBeGreaterThan(10);
  expect(await replayFailures(inject('workflowBundle'), stored)).toEqual([]);
});

describe('the stored histories have', () => {
  const OUTCOMES = {
    release: ['released', 'rolled_back', 'failed', 'rollback_failed', 'errored', 'aborted'],
    rollback: ['rolled_back', 'failed', 'rollback_failed'],
  } satisfies Readonly<Record<string, readonly Outcome[]>>;

  it.each(Object.entries(OUTCOMES))('every outcome of a %s that ran', async (kind, outcomes) => {
    const results = (await storedHistories())
      .filter(({ file }) => file.endsWith(`.${kind}.json`))
      .flatMap(({ stored }) => [
        ...attributes(stored, 'workflowExecutionCompletedEventAttributes').map(({ result }) => result),
        ...attributes(stored, 'workflowExecutionFailedEventAttributes').map(detailsOf),
      ])
      .map((result) => (payload(result) as { outcome: Outcome }).outcome);
    expect([...new Set(results)].sort()).toEqual([...outcomes].sort());
  });

  it('releases that never ran: superseded, and rejected', async () => {
    const carriedOver = (await storedHistories())
      .flatMap(({ stored }) => attributes(stored, 'workflowExecutionContinuedAsNewEventAttributes'))
      .flatMap(({ input }) => (payload(input) as TargetInput).state?.history ?? [])
      .map(({ outcome }) => outcome);
    expect(carriedOver).toEqual(expect.arrayContaining(['superseded', 'rejected']));
  });

  it('a target that was canceled or terminated, one that continued as new, and running ones', async () => {
    const targets = (await storedHistories()).filter(({ file }) => file.endsWith('.target.json'));
    const has = (stored: RecordedHistory, name: string): boolean => attributes(stored, name).length > 0;
    const lives = targets.map(({ stored }) => {
      if (has(stored, 'workflowExecutionTerminatedEventAttributes')) return 'terminated';
      if (has(stored, 'workflowExecutionCancelRequestedEventAttributes')) return 'canceled';
      return has(stored, 'workflowExecutionContinuedAsNewEventAttributes') ? 'carried on' : 'lives';
    });
    expect(new Set(lives)).toEqual(new Set(['terminated', 'canceled', 'carried on', 'lives']));
  });

  it('every workflow that a worker runs: all except the lock of a deployment', async () => {
    const types = (await storedHistories())
      .flatMap(({ stored }) => attributes(stored, 'workflowExecutionStartedEventAttributes'))
      .map(({ workflowType }) => (workflowType as { name: string }).name);
    const run = Object.keys(workflows).filter((name) => name !== 'deployment');
    expect([...new Set(types)].sort()).toEqual(run.sort());
  });

  const defined = [
    ...[ofTargets, ofReleases, ofPlaces, ofPollers, ofHooks, ofPreviews].flatMap((messages) =>
      Object.values<unknown>(messages),
    ),
    ...Object.values(ofReleases.INTERVENTION_SIGNALS),
    ...Object.values(ofReleases.INTERVENTION_UPDATES),
  ] as readonly { readonly type?: string; readonly name?: string }[];
  const names = (type: string): string[] =>
    defined.filter((definition) => definition.type === type).map(({ name }) => name ?? '');

  it('every message as an update', async () => {
    const taken = (await storedHistories())
      .flatMap(({ stored }) => attributes(stored, 'workflowExecutionUpdateAcceptedEventAttributes'))
      .map((accepted) => (accepted['acceptedRequest'] as { input: { name: string } }).input.name);
    expect([...new Set(taken)].sort()).toEqual(names('update').sort());
  });

  it('every message as a signal', async () => {
    const taken = (await storedHistories())
      .flatMap(({ stored }) => attributes(stored, 'workflowExecutionSignaledEventAttributes'))
      .map(({ signalName }) => signalName as string);
    expect([...new Set(taken)].sort()).toEqual(names('signal').sort());
  });
});

describe('an incompatible change of the workflows is caught:', () => {
  it.each([
    {
      change: 'a step that is left out',
      from: "await journal.step('record'",
      to: "await (async () => undefined)('record'",
    },
    {
      change: 'a pause before the upload',
      from: "run.objectPath = await run.journal.step('upload'",
      to: "setTimeout(() => undefined, 1000); run.objectPath = await run.journal.step('upload'",
    },
    {
      change: 'an activity under another name',
      from: 'activities.patchDeployment(',
      to: 'activities.changeDeployment(',
    },
    { change: 'a target that notes nothing in its memo', from: '.upsertMemo)(', to: '.isCancellation)(' },
  ])('$change', async ({ from, to }) => {
    const code = await readFile(inject('workflowBundle'), 'utf8');
    expect(code).toContain(from);
    const folder = await mkdtemp(join(tmpdir(), 'slipway-bundle-'));
    try {
      const bundle = join(folder, 'incompatible.js');
      await writeFile(bundle, code.replaceAll(from, to));
      const stored = (await storedHistories())
        .filter(({ file }) => file.startsWith('first-release-then-failed-check.'))
        .map((history) => history.stored);
      const failures = await replayFailures(bundle, stored);
      expect(failures.length).toBeGreaterThan(0);
      expect(failures.every((failure) => failure.includes('DeterminismViolationError'))).toBe(true);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

it('stored histories contain nothing of the machine that recorded them', async () => {
  for (const { text } of await storedHistories()) {
    const identities = [...text.matchAll(/"identity":"(?<who>[^"]*)"/g)].map(({ groups }) => groups?.['who']);
    expect(new Set([...identities, IDENTITY, 'history-service'])).toEqual(
      new Set([IDENTITY, 'history-service']),
    );
    expect(text).not.toMatch(/\/(?:home|root|work|tmp|Users)\//);
  }
});

type Fields = Readonly<Record<string, unknown>>;

function attributes({ history }: RecordedHistory, name: string): Fields[] {
  const events = (history.events ?? []) as unknown as readonly Fields[];
  return events.flatMap((event) => (event[name] === undefined ? [] : [event[name] as Fields]));
}

function detailsOf({ failure }: Fields): unknown {
  return (failure as { applicationFailureInfo: { details: unknown } }).applicationFailureInfo.details;
}

function payload(payloads: unknown): unknown {
  const [first] = (payloads as { payloads: { data: string }[] }).payloads;
  return JSON.parse(Buffer.from(first?.data ?? '', 'base64').toString());
}
