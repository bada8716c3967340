import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, expect, it, vi } from 'vitest';

import { runPreviewCommand } from '../../../../src/cli/commands/preview/preview.ts';
import { runPromoteCommand } from '../../../../src/cli/commands/promotion/promote.ts';
import { runRollbackCommand } from '../../../../src/cli/commands/rollback/rollback.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';
import { answeringTemporal, grpcError } from '../../../temporal/client/answeringTemporal.ts';
import { testOutput } from '../../testOutput.ts';

const sent: string[] = [];
beforeEach(() => void sent.splice(0));

vi.mock('../../../../src/cli/openTemporal.ts', () => {
  /** A Temporal that a person stops waiting for while the command connects to it. */
  const openTemporal = () => {
    process.emit('SIGINT');
    return Promise.resolve({ ...temporal(), close: () => Promise.resolve() });
  };
  const withTemporal = async (_: unknown, work: (opened: unknown) => unknown) => work(await openTemporal());
  return { openTemporal, withTemporal };
});

function temporal() {
  const send = (what: string) => () => Promise.reject(new Error(`sent: ${sent.push(what)}`));
  const describe = () => Promise.resolve({ raw: {}, status: { name: 'RUNNING' } });
  const getHandle = () => ({ describe, executeUpdate: send('update'), signal: send('signal') });
  const answering = answeringTemporal({
    workflow: { getHandle, start: send('start'), signalWithStart: send('signalWithStart') },
  });
  const describeWorkerDeployment = () => Promise.reject(grpcError('NOT_FOUND'));
  Object.assign(answering.connection.workflowService, { describeWorkerDeployment });
  return answering;
}

const AT = 'controlPlane: "http://127.0.0.1:1", apiKey: { from: "env:KEY" }';
const FILE = `targets: { staging: { ${AT}, deployment: s }, live: { ${AT}, deployment: l } }
promotions: { up: { from: staging, to: live } }
previews: { pr: { from: staging, deployment: "greeter-{pr}" } }
artifact: { store: . }
`;
const WAITING = { wait: true, timeout: 1_000 };

it.each([
  [
    'rollback',
    (context, config) => runRollbackCommand(context, 'live', { config, to: 'release-1', ...WAITING }),
  ],
  ['promote', (context, config) => runPromoteCommand(context, 'up', { config, ...WAITING })],
  ['preview down', (context, config) => runPreviewCommand(context, 'down', { config, pr: 1, ...WAITING })],
] satisfies readonly (readonly [string, (context: Context, config: string) => Promise<number>])[])(
  '%s sends nothing if Ctrl-C comes before',
  async (_name, run) => {
    const folder = await temporaryFolder();
    const config = join(folder, 'slipway.yaml');
    await writeFile(config, FILE);
    const context = { output: testOutput(), home: join(folder, 'home'), environment: {} };
    await expect(run(context, config)).rejects.toMatchObject({ exitCode: 130 });
    expect(sent).toEqual([]);
  },
);

type Context = Parameters<typeof runRollbackCommand>[0];
