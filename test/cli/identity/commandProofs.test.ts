import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';

import { openArtifactStore } from '../../../src/artifact/openArtifactStore.ts';
import { runInterventionCommand } from '../../../src/cli/commands/intervention/intervene.ts';
import { runPromoteCommand } from '../../../src/cli/commands/promotion/promote.ts';
import { runRollbackCommand } from '../../../src/cli/commands/rollback/rollback.ts';
import type { CommandContext } from '../../../src/cli/context.ts';
import { openTemporal } from '../../../src/cli/openTemporal.ts';
import type { Statement } from '../../../src/domain/identity/statement.ts';
import { EMPTY_TARGET } from '../../../src/domain/target/targetState.ts';
import { promotionIdAt, type PromotionRequest } from '../../../src/domain/promotion/promotion.ts';
import type { Proof } from '../../../src/identity/proof.ts';
import { type PeopleAtIssuer, peopleAtIssuer } from '../../identity/peopleAtIssuer.ts';
import { answeringTemporal } from '../../temporal/client/answeringTemporal.ts';
import { testOutput } from '../testOutput.ts';
import { useFolders } from '../../support/temporaryFolder.ts';

vi.mock('../../../src/cli/openTemporal.ts', () => {
  const open = vi.fn<typeof openTemporal>();
  const withOpen = async (context: CommandContext, work: (temporal: unknown) => unknown) =>
    work(await open(context));
  return { openTemporal: open, withTemporal: withOpen };
});

const TARGET_ID = 'target:http://127.0.0.1:9:agent';
const RELEASE_ID = `${TARGET_ID}/release-1`;
const FILE = `
targets:
  production:
    controlPlane: http://127.0.0.1:9
    apiKey: { from: env:NO_KEY }
    deployment: agent
    approval: { identity: oidc }
  staging:
    controlPlane: http://127.0.0.1:9
    apiKey: { from: env:NO_KEY }
    deployment: early
promotions:
  up: { from: staging, to: production }
`;

let people: PeopleAtIssuer;
const folder = useFolders();
let sent: [workflowId: string, message: Readonly<Record<string, unknown>>][];

beforeAll(async () => {
  people = await peopleAtIssuer('ada');
});
afterAll(() => people.close());
beforeEach(async () => {
  await mkdir(join(folder(), 'home'));
  await writeFile(join(folder(), 'slipway.yaml'), FILE);
  sent = [];
  vi.mocked(openTemporal).mockResolvedValue({ ...temporal(), close: () => Promise.resolve() });
});

it.each([
  ['rollback', TARGET_ID, (context, config) => runRollbackCommand(context, 'production', { ...GO, config })],
  ...(['approve', 'reject', 'pause', 'resume', 'retry'] as const).map((kind): Case => [
    kind,
    RELEASE_ID,
    (context, config) => runInterventionCommand(context, kind, 'production', { config, reason: 'so' }),
  ]),
  [
    'abort',
    RELEASE_ID,
    (context, config) =>
      runInterventionCommand(context, 'abort', 'production', { config, release: 'release-1' }),
  ],
  [
    'approve',
    promotionIdAt(TARGET_ID, 'up'),
    (context, config) => runInterventionCommand(context, 'approve', undefined, { config, promotion: 'up' }),
  ],
] satisfies Case[])('slipway %s to %s sends a proof of identity', async (action, workflowId, run) => {
  await run(context(), join(folder(), 'slipway.yaml'));
  expect(sent.map(([to]) => to)).toEqual([workflowId]);
  const { identity, requestId } = sent[0]![1];
  await expectProved(identity, { action, workflowId, requestId: String(requestId) });
});

it('slipway promote sends a proof of identity', async () => {
  await runPromoteCommand(context(), 'up', { ...GO, config: join(folder(), 'slipway.yaml') });
  const [[workflowId, input]] = sent as unknown as [[string, { readonly request: PromotionRequest }]];
  const { requestId, identity } = input.request.asked!;
  await expectProved(identity, { action: 'promote', workflowId, requestId });
});

it('without a sign-in, an approval and a promotion are not sent', async () => {
  const config = join(folder(), 'slipway.yaml');
  const unproved = { code: 'SLIPWAY_IDENTITY_UNPROVED' };
  const approving = runInterventionCommand(context('nobody'), 'approve', 'production', { config });
  await expect(approving).rejects.toMatchObject(unproved);
  await expect(runPromoteCommand(context('nobody'), 'up', { ...GO, config })).rejects.toMatchObject(unproved);
  expect(sent).toEqual([]);
});

it('without a sign-in, a rollback and a rejection are sent, with a note that the name is not verified', async () => {
  const config = join(folder(), 'slipway.yaml');
  const nobody = context('nobody');
  await runRollbackCommand(nobody, 'production', { ...GO, config });
  await runInterventionCommand(nobody, 'reject', 'production', { config });
  expect(sent.map(([, { identity }]) => identity)).toEqual([undefined, undefined]);
  expect(nobody.output.noted).toEqual([
    expect.stringContaining('claimed name: the target asks for a proof of who you are, and you are not'),
    expect.stringContaining('claimed name: '),
  ]);
});

type Run = (context: CommandContext, config: string) => Promise<unknown>;
type Case = [action: Statement['action'], workflowId: string, run: Run];
const GO = { wait: false, timeout: 1_000 } as const;

function context(login = 'ada') {
  return { output: testOutput(), home: join(folder(), 'home'), environment: people.environmentOf(login) };
}

/** Whether the store has a proof of ada for this statement. */
async function expectProved(identity: unknown, statement: Statement): Promise<void> {
  const store = openArtifactStore(join(folder(), 'home', 'artifacts'));
  const proof = (await store.getRecord(String(identity))) as Proof;
  const { who } = await people.verifier.verify(proof, statement, new Date());
  expect(who).toBe('ada@example.com');
}

/** A Temporal whose target has a running release, and that records its messages. */
function temporal() {
  const running = { kind: 'release', releaseId: 'release-1', workflowId: RELEASE_ID };
  const answer = { id: '1', disposition: 'taken', note: 'taken', reason: 'taken', onHold: true };
  const take = (workflowId: string, message: unknown): void => {
    sent.push([workflowId, message as Readonly<Record<string, unknown>>]);
  };
  return answeringTemporal({
    workflow: {
      start: (_type: string, { workflowId, args }: { workflowId: string; args: readonly unknown[] }) => {
        take(workflowId, args[0]);
        return Promise.resolve({ firstExecutionRunId: 'run' });
      },
      getHandle: (workflowId: string) => ({
        describe: () => Promise.resolve({ status: { name: 'RUNNING' }, raw: {} }),
        query: () => Promise.resolve({ state: EMPTY_TARGET, running }),
        executeUpdate: (_update: unknown, { args }: { readonly args: readonly unknown[] }) => {
          take(workflowId, args[0]);
          return Promise.resolve(answer);
        },
      }),
    },
  });
}
