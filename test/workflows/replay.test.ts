import { readdir, readFile } from 'node:fs/promises';

import { expect, inject, it } from 'vitest';

import { replayFailures } from './harness.ts';
import { IDENTITY, type RecordedHistory } from './targetUnderTest.ts';

const FOLDER = new URL('../histories/', import.meta.url);

/** Stored histories, as JSON: the way in which Temporal's own tools hand them out. */
async function storedHistories(): Promise<{ file: string; text: string; stored: RecordedHistory }[]> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.json'));
  return Promise.all(
    files.map(async (file) => {
      const text = await readFile(new URL(file, FOLDER), 'utf8');
      return { file, text, stored: JSON.parse(text) as RecordedHistory };
    }),
  );
}

it('every stored history replays: workflow code comes to the same decisions as when it was made', async () => {
  const stored = (await storedHistories()).map((history) => history.stored);
  expect(stored.length).toBeGreaterThan(10);
  expect(await replayFailures(inject('workflowBundle'), stored)).toEqual([]);
});

it('the gate notices a decision that is not the one in the history', async () => {
  const [release] = (await storedHistories()).filter(({ file }) => file.endsWith('.release.json'));
  const changed = release?.text.replaceAll('"findDeployment"', '"findSomethingElse"') ?? '';
  const failures = await replayFailures(inject('workflowBundle'), [JSON.parse(changed) as RecordedHistory]);
  expect(failures).toHaveLength(1);
  expect(failures[0]).toContain('findSomethingElse');
});

it('stored histories tell nothing of the machine on which they were made', async () => {
  for (const { text } of await storedHistories()) {
    const identities = [...text.matchAll(/"identity":"(?<who>[^"]*)"/g)].map(({ groups }) => groups?.['who']);
    expect(new Set([...identities, IDENTITY, 'history-service'])).toEqual(
      new Set([IDENTITY, 'history-service']),
    );
    expect(text).not.toMatch(/\/(?:home|root|work|tmp|Users)\//);
  }
});
