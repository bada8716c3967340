import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { WorkflowNotFoundError } from '@temporalio/client';
import { beforeEach, describe, expect, it, vi } from 'vitest';

import { type ArtifactStore, targetRecordName } from '../../../../src/artifact/artifactStore.ts';
import { openArtifactStore } from '../../../../src/artifact/openArtifactStore.ts';
import { printHistory } from '../../../../src/cli/commands/history/history.ts';
import { runInterventionCommand } from '../../../../src/cli/commands/intervention/intervene.ts';
import { runHoldCommand, runQuarantineCommand } from '../../../../src/cli/commands/target/blocks.ts';
import type { CommandContext, MessageOptions } from '../../../../src/cli/context.ts';
import { printStatus } from '../../../../src/cli/commands/status/status.ts';
import { askTarget } from '../../../../src/cli/commands/target/forgottenTarget.ts';
import { writeLocalHold } from '../../../../src/cli/commands/target/localHold.ts';
import type { ChosenTarget } from '../../../../src/cli/commands/target/targetAccess.ts';
import type { Config } from '../../../../src/config/configSchema.ts';
import { EMPTY_TARGET } from '../../../../src/domain/target/targetState.ts';
import { setHold } from '../../../../src/temporal/client/target/targetClient.ts';
import { targetOn } from '../../../activities/activitiesUnderTest.ts';
import { useFolders } from '../../../support/temporaryFolder.ts';
import { answeringTemporal } from '../../../temporal/client/answeringTemporal.ts';
import { testOutput } from '../../testOutput.ts';
import { sampleResult } from '../../ui/sampleProgress.ts';

vi.mock('../../../../src/cli/openTemporal.ts', () => ({
  withTemporal: (_: unknown, work: (temporal: unknown) => unknown) => work(forgetful()),
}));

const AT = '2026-11-21T12:00:00.000Z';
const TARGET = {
  name: 'production',
  workflowId: 'target:production',
  spec: { ...targetOn('http://127.0.0.1:1'), apiKey: { from: 'env:KEY' } },
  openStore: () => store,
} as unknown as ChosenTarget;

/** A Temporal without the target, until somebody starts it. */
function forgetful() {
  const gone = () => Promise.reject(new WorkflowNotFoundError('gone', TARGET.workflowId, undefined));
  const handle: Record<string, () => Promise<unknown>> = { describe: gone, executeUpdate: gone };
  const started = {
    describe: () => Promise.resolve({ status: { name: 'RUNNING' } }),
    executeUpdate: () => Promise.resolve(true),
    query: () => Promise.resolve({ state: EMPTY_TARGET, running: null }),
  };
  const start = () => Promise.resolve(Object.assign(handle, started));
  return answeringTemporal({ workflow: { getHandle: () => handle, start, list: () => [] } });
}

const folder = useFolders();
let store: ArtifactStore;
beforeEach(() => {
  store = openArtifactStore(folder());
});

async function remember(workflowId = TARGET.workflowId): Promise<void> {
  const hold = { since: AT, by: { who: 'ada', from: 'cli', reason: 'an incident' } };
  const known = [{ revisionId: 'r1', verified: true, at: AT }];
  const state = { ...EMPTY_TARGET, hold, known, activeRevisionId: 'r1', nextNumber: 3 };
  await store.putRecord(targetRecordName(workflowId), { at: AT, state });
  for (const number of [1, 2]) {
    const releaseId = `release-${number}`;
    const record = { ...sampleResult({ releaseId }), workflowId: `${workflowId}/${releaseId}` };
    await store.putRecord(`production/${number}-${releaseId}.json`, record);
  }
}

async function seen(
  look: (context: Parameters<typeof printStatus>[0]) => Promise<unknown>,
  json = false,
): Promise<{ readonly text: string; readonly events: readonly Record<string, unknown>[] }> {
  const output = testOutput({ json });
  await look({ output, home: folder(), environment: { KEY: 'key' } });
  return { text: [...output.said, ...output.noted].join('\n'), events: output.events };
}

describe('a target that has never taken a release', () => {
  const blocks = [
    ['hold', runHoldCommand],
    [
      'quarantine',
      (context: CommandContext, isSet: boolean, _: undefined, options: MessageOptions) =>
        runQuarantineCommand(context, isSet, 'production', 'sha256:aa', options),
    ],
  ] as const;

  it.each(blocks)('begins with a %s, and is not found by its end', async (_name, run) => {
    const config = join(folder(), 'slipway.yaml');
    const spec = '{ controlPlane: "http://127.0.0.1:1", apiKey: { from: "env:KEY" }, deployment: greeter }';
    await writeFile(config, `targets: { production: ${spec} }\nartifact: { store: . }\n`);
    const context = { output: testOutput(), home: folder(), environment: {} };
    await expect(run(context, false, undefined, { config })).rejects.toMatchObject({
      code: 'SLIPWAY_TARGET_NEVER_RELEASED',
    });
    await run(context, true, undefined, { config });
    const notes = context.output.noted.join('\n');
    expect(notes).toContain('"production" has never taken a release in the namespace');
    expect(notes).toContain('runs already continues; to stop it: slipway abort production');
  });
});

describe('a target that only the artifact store has', () => {
  it('is started again by a message', async () => {
    const temporal = forgetful();
    const hold = () => setHold(temporal, TARGET.workflowId, true, { who: 'ada', from: 'cli' });
    const asked = () => askTarget(temporal, TARGET, hold);
    await expect(asked()).rejects.toMatchObject({ code: 'SLIPWAY_TARGET_NEVER_RELEASED' });
    await remember();
    expect(await asked()).toEqual({ onHold: true, via: 'update' });
  });

  it('has no running release for an intervention', async () => {
    const config = join(folder(), 'slipway.yaml');
    const spec = '{ controlPlane: "http://127.0.0.1:1", apiKey: { from: "env:KEY" }, deployment: greeter }';
    await writeFile(config, `targets: { production: ${spec} }\nartifact: { store: . }\n`);
    const context = { output: testOutput(), home: folder(), environment: {} };
    const asked = () => runInterventionCommand(context, 'pause', undefined, { config });
    await expect(asked()).rejects.toMatchObject({ code: 'SLIPWAY_TARGET_NEVER_RELEASED' });
    await remember('target:http://127.0.0.1:1:greeter');
    await expect(asked()).rejects.toMatchObject({ code: 'SLIPWAY_WRONG_MOMENT' });
  });

  it('is shown as its record says', async () => {
    const of = { config: { promotions: {} } as Config, targets: [TARGET] };
    const look = (json: boolean) => seen((context) => printStatus(context, forgetful(), of, 3), json);
    expect((await look(false)).text).toContain('has never taken a release');
    await remember();
    const { text } = await look(false);
    expect(text).toContain('Temporal no longer has this target: this is its record of 2026-11-21');
    expect(text).toContain('on hold since 2026-11-21 12:00:00Z, set by ada: an incident');
    expect(text).toContain('serves   revision r1, verified');
    expect((await look(true)).events).toMatchObject([
      { from: 'record', known: true, recordedAt: AT, activeRevisionId: 'r1', hold: { since: AT } },
    ]);
  });

  it('is shown with the problem of a hold on this machine that cannot be read, which is the error', async () => {
    const config = { promotions: {} } as Config;
    const hold = { target: TARGET.name, since: AT, by: { who: 'ada', from: 'cli' }, to: 'r1' };
    await writeLocalHold(folder(), TARGET.spec, hold);
    const [file = ''] = await readdir(join(folder(), 'holds'));
    await writeFile(join(folder(), 'holds', file), '');
    await remember();
    const output = testOutput();
    const context = { output, home: folder(), environment: { KEY: 'key', SLIPWAY_HOME: folder() } };
    const shown = printStatus(context, forgetful(), { config, targets: [TARGET] }, 3);
    await expect(shown).rejects.toMatchObject({ code: 'SLIPWAY_TARGET_ON_HOLD' });
    const text = output.said.join('\n');
    expect(text).toContain('the hold of "production" could not be read');
    expect(text).toContain('serves   revision r1, verified');
  });

  it('has the history of its records', async () => {
    const look = () => seen((context) => printHistory(context, forgetful(), TARGET, 5));
    expect((await look()).text).toContain('has never taken a release');
    await remember();
    expect((await look()).text).toMatch(/release-2[^]*release-1[^]*Temporal no longer has this target/);
  });
});
