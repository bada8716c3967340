import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { followLog, type LogsOptions, runLogsCommand } from '../../../../src/cli/commands/logs/logs.ts';
import { logFileLines } from '../../../../src/cli/commands/logs/releaseLog.ts';
import type { ControlPlaneClient } from '../../../../src/clients/controlPlane.ts';
import { ServiceError } from '../../../../src/clients/serviceError.ts';
import { logEnd, type LogLine } from '../../../../src/inspection/deployment/revisionLog.ts';
import {
  DEPLOYMENT_ID,
  deploymentAnswer,
  OTHER_REVISION_ID,
  REVISION_ID,
  revisionAnswer,
} from '../../../activities/activitiesUnderTest.ts';
import { json, startService } from '../../../clients/faultyService.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';
import { testOutput } from '../../testOutput.ts';

const THIRD_REVISION_ID = OTHER_REVISION_ID.replace('-4333', '-4444');
const OF = { deploymentId: 'd', revisionId: 'r' };
const TIME = '2026-11-21T12:00:00.000Z';
const LINES = Array.from({ length: 2_500 }, (_, index) => ({
  id: String(index + 1),
  stage: index < 2_000 ? 'build' : 'deploy',
  message: `line ${index + 1}`,
  timestamp: TIME,
}));

function failure(code: 'SLIPWAY_NOT_FOUND' | 'SLIPWAY_NO_ANSWER', status?: number): ServiceError {
  return new ServiceError(code, 'no', { method: 'GET', path: '/', status, mayHaveBeenTaken: false });
}

function client(change: Partial<ControlPlaneClient>): ControlPlaneClient {
  return change as ControlPlaneClient;
}

/** Pages in the platform's order: newest first. */
const withLogs = client({
  getRevisionLogs: (_deployment, _revision, { limit = 100, offset, stage } = {}) => {
    const all = LINES.filter((line) => stage === undefined || line.stage === stage).reverse();
    const from = offset === undefined ? 0 : all.findIndex(({ id }) => id === offset) + 1;
    const logs = all.slice(from, from + limit);
    const next_offset = from + limit < all.length ? (logs.at(-1)?.id ?? null) : null;
    return Promise.resolve({ logs, next_offset });
  },
});

describe('the last lines of a log', () => {
  it('are collected from pages, oldest line first', async () => {
    const { lines, after } = await logEnd(withLogs, OF, undefined, 1_500);
    expect(lines).toHaveLength(1_500);
    expect(lines[0]?.message).toBe('line 1001');
    expect(lines.at(-1)).toEqual({ stage: 'deploy', message: 'line 2500', timestamp: LINES[0]?.timestamp });
    expect(after).toEqual({ offset: '2500' });
  });

  it('are of one stage on request', async () => {
    const { lines } = await logEnd(withLogs, OF, 'build', 2);
    expect(lines.map(({ message }) => message)).toEqual(['line 1999', 'line 2000']);
  });

  it('are requested in the public way if the control plane has no other', async () => {
    const without = client({
      getRevisionLogs: () => Promise.reject(failure('SLIPWAY_NOT_FOUND', 404)),
      getRevision: () => Promise.resolve({} as never),
      getBuildLogs: () => Promise.resolve({ logs: [{ message: 'second' }, { message: 'first' }] }),
      getDeployLogs: () => Promise.resolve({ logs: [{ message: 'third', timestamp: TIME }] }),
    });
    expect(await logEnd(without, OF, undefined, 2)).toEqual({
      lines: [
        { stage: 'build', message: 'second', timestamp: null },
        { stage: 'deploy', message: 'third', timestamp: TIME },
      ],
      after: undefined,
    });
  });

  it.each(['2026-11-21 13:14:00,123', '1795266840.5', ''])(
    'have no time if the control plane writes it as %j, which cannot be read',
    async (timestamp) => {
      const line = { id: '1', stage: 'deploy', message: 'first', timestamp };
      const ours = client({ getRevisionLogs: () => Promise.resolve({ logs: [line], next_offset: null }) });
      const others = client({
        getRevisionLogs: () => Promise.reject(failure('SLIPWAY_NOT_FOUND', 404)),
        getRevision: () => Promise.resolve({} as never),
        getDeployLogs: () => Promise.resolve({ logs: [line] }),
      });
      const untimed = [{ stage: 'deploy', message: 'first', timestamp: null }];
      for (const each of [ours, others])
        expect(await logEnd(each, OF, 'deploy', 1)).toMatchObject({ lines: untimed });
    },
  );

  it('report a missing revision, and missing logs', async () => {
    const gone = (): Promise<never> => Promise.reject(failure('SLIPWAY_NOT_FOUND', 404));
    async function* eachRevision() {
      for (const id of ['seven', 'six']) yield await Promise.resolve({ id });
    }
    const wrong = client({ getRevisionLogs: gone, getRevision: gone, eachRevision: eachRevision as never });
    await expect(logEnd(wrong, OF, undefined, 1)).rejects.toMatchObject({
      code: 'SLIPWAY_NOT_FOUND',
      exitCode: 1,
      message: 'the deployment has no revision "r"',
      hint: 'its newest ones: seven, six',
    });
    const none = client({
      getRevisionLogs: gone,
      getRevision: () => Promise.resolve({} as never),
      getBuildLogs: gone,
    });
    await expect(logEnd(none, OF, undefined, 1)).rejects.toMatchObject({
      message: 'this control plane serves no logs',
    });
  });
});

it('following a log continues after its last line if the stream breaks', async () => {
  const asked: unknown[] = [];
  async function* stream(from: number, cut: boolean) {
    yield { event: 'status', data: {}, id: undefined };
    for (const line of LINES.slice(from, from + 2)) {
      yield await Promise.resolve({ event: 'log', data: line, id: line.id });
    }
    if (cut) throw failure('SLIPWAY_NO_ANSWER');
    yield { event: 'end', data: {}, id: undefined };
  }
  const cutOff = client({
    followRevisionLogs: (_deployment, _revision, query) => {
      asked.push(query.offset);
      const isFirst = asked.length === 1;
      return Promise.resolve(stream(isFirst ? 10 : 12, isFirst) as never);
    },
  });
  const lines: LogLine[] = [];
  for await (const line of followLog(cutOff, OF, undefined, '10', new AbortController().signal))
    lines.push(line);
  expect(lines.map(({ message }) => message)).toEqual(['line 11', 'line 12', 'line 13', 'line 14']);
  expect(asked).toEqual(['10', '12']);
});

it('following a log ends with an error of the control plane if an event is no line', async () => {
  async function* stream() {
    yield await Promise.resolve({ event: 'log', data: { text: 'no message' } });
  }
  const strange = client({ followRevisionLogs: () => Promise.resolve(stream() as never) });
  const following = followLog(strange, OF, undefined, undefined, new AbortController().signal);
  await expect(following.next()).rejects.toMatchObject({ code: 'SLIPWAY_BAD_ANSWER' });
});

describe('the command', () => {
  /** A deployment whose newest revision failed: the previous one serves. */
  async function logs(options: Partial<LogsOptions>, output = testOutput(), timestamp = TIME) {
    const plane = await startService((request, response) => {
      const [, revisionId] = /\/revisions\/([^/]+)\/logs/.exec(request.url) ?? [];
      if (/\/revisions(?:\?|$)/.test(request.url)) {
        const resources = [OTHER_REVISION_ID, THIRD_REVISION_ID, REVISION_ID].map((id) => ({
          ...revisionAnswer('DEPLOYED'),
          id,
        }));
        json(response, 200, { resources, offset: 0 });
      } else if (revisionId === undefined) {
        json(
          response,
          200,
          deploymentAnswer({ latest_revision_id: OTHER_REVISION_ID, active_revision_id: REVISION_ID }),
        );
      } else {
        const message = `${revisionId === REVISION_ID ? 'good' : 'bad'} with sk-very-secret`;
        json(response, 200, {
          logs: [{ id: '1', stage: 'deploy', message, timestamp }],
          next_offset: null,
        });
      }
    });
    const folder = await temporaryFolder();
    const config = join(folder, 'slipway.yaml');
    await writeFile(
      config,
      `targets: { staging: { controlPlane: "${plane.url}", deployment: greeter, deploymentId: ${DEPLOYMENT_ID}, apiKey: { from: env:KEY }, secrets: [{ name: A, from: env:A }] } }`,
    );
    const environment = { KEY: 'the-key', A: 'sk-very-secret', TEMPORAL_ADDRESS: '127.0.0.1:1' };
    await runLogsCommand({ output, home: folder, environment }, undefined, { config, tail: 10, ...options });
    return output;
  }

  it('names the newest revision and the serving one, and prints no secret', async () => {
    const { said, noted } = await logs({});
    expect(noted).toEqual([
      `Log of revision ${OTHER_REVISION_ID} on "staging": the newest; revision ${REVISION_ID} serves (slipway logs staging --serving)`,
    ]);
    expect(said).toEqual([expect.stringContaining('bad with [removed]')]);
  });

  it('prints a line whose time cannot be read', async () => {
    const { said } = await logs({}, testOutput(), '2026-11-21 13:14:00,123');
    expect(said).toEqual(['deploy bad with [removed]']);
  });

  it('accepts a unique prefix of a revision’s id', async () => {
    const { said, noted } = await logs({ revision: REVISION_ID.slice(0, 8).toUpperCase() });
    expect(noted).toEqual([`Log of revision ${REVISION_ID} on "staging": not the newest; it serves`]);
    expect(said).toEqual([expect.stringContaining('good with [removed]')]);
  });

  it.each([
    ['release-8', 'the deployment has no revision "release-8"'],
    ['33333333', 'several revisions of the deployment begin with "33333333"'],
  ])('rejects %j and names the newest revisions', async (revision, message) => {
    const output = testOutput();
    await expect(logs({ revision }, output)).rejects.toMatchObject({
      code: 'SLIPWAY_NOT_FOUND',
      exitCode: 1,
      message,
      hint: `its newest ones: ${OTHER_REVISION_ID}, ${THIRD_REVISION_ID}, ${REVISION_ID}`,
    });
    expect([...output.said, ...output.noted]).toEqual([]);
  });

  it.each(['latest', 'release-1'])('knows no %s without Temporal, a record and lines', async (release) => {
    await expect(logs({ release })).rejects.toMatchObject({ code: 'SLIPWAY_TEMPORAL_UNREACHABLE' });
  });

  it('shows the serving revision with --serving', async () => {
    const { said, noted } = await logs({ serving: true });
    expect(noted).toEqual([`Log of revision ${REVISION_ID} on "staging": not the newest; it serves`]);
    expect(said).toEqual([expect.stringContaining('good with [removed]')]);
  });
});

/** A home whose worker has logged this. */
async function homeWith(log: string): Promise<string> {
  const home = await temporaryFolder();
  await mkdir(join(home, 'logs'));
  await writeFile(join(home, 'logs', 'worker.log'), log);
  return home;
}

it('a line separator within a logged text does not end its line', async () => {
  const line = {
    time: '2026-11-26T10:00:00.000Z',
    msg: 'the agent answered "one\u2028two"',
    workflowId: 'target:t/r-1',
  };
  const home = await homeWith(`${JSON.stringify(line)}\nno JSON about target:t/r-1\n{"msg":"another"}\n`);
  expect(await logFileLines(home, 'worker', { workflowId: 'target:t/r-1', revisions: [] })).toEqual([
    { message: line.msg, timestamp: line.time, revisionId: null },
    { message: 'no JSON about target:t/r-1', timestamp: null, revisionId: null },
  ]);
});

it('lines of the next release, which reads the revision, are not those of this one', async () => {
  const lines = ['target:t/r-1', 'target:t', 'target:t/r-12'].map((workflowId) =>
    JSON.stringify({ msg: `a line of ${workflowId} about rev-1`, workflowId }),
  );
  const home = await homeWith(lines.join('\n'));
  const found = await logFileLines(home, 'worker', { workflowId: 'target:t/r-1', revisions: ['rev-1'] });
  expect(found.map(({ message }) => message)).toEqual([
    'a line of target:t/r-1 about rev-1',
    'a line of target:t about rev-1',
  ]);
});
