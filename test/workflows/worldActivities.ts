import { Readable } from 'node:stream';

import { Context } from '@temporalio/activity';
import { type Agent, MockAgent } from 'undici';

import type { Activities } from '../../src/activities/activities.ts';
import type { Outside } from '../../src/activities/connections.ts';
import { releaseActivities } from '../../src/activities/createActivities.ts';
import { pollActivities } from '../../src/activities/deployment/pollActivities.ts';
import { RequestRates } from '../../src/activities/deployment/requestRates.ts';
import { guardActivities } from '../../src/activities/guard/guardActivities.ts';
import { identityActivities } from '../../src/activities/identity/identityActivities.ts';
import { track } from '../../src/activities/track.ts';
import { memoryStore } from '../../src/artifact/memoryStore.ts';
import { openArtifactStore } from '../../src/artifact/openArtifactStore.ts';
import { memoryAgent } from '../../src/clients/memoryControlPlane.ts';
import { createAgent } from '../../src/clients/service.ts';
import type { TargetSpec } from '../../src/domain/target/targetSpec.ts';
import { statementAudience } from '../../src/identity/proof.ts';
import { unproved } from '../../src/identity/verifier.ts';
import type { Services } from './services.ts';
import { POLL_MS, polls } from './waits.ts';

/** The activities that call a control plane, an agent, or the store. */
export const WORLD_ACTIVITIES = [
  'findDeployment',
  'createDeployment',
  'readDeployment',
  'readRevision',
  'listRevisions',
  'uploadArtifact',
  'patchDeployment',
  'redeployRevision',
  'awaitDeployed',
  'confirmServing',
  'findDatasets',
  'runCheck',
  'askAgent',
  'lookAtFreezes',
  'awaitLateSuccess',
  'awaitLateUpload',
  'recordRelease',
  'readChecks',
  'proveIdentity',
  'sendNotice',
  'deleteDeployment',
  'parkDeployment',
  'writeComment',
  'guardRevision',
] as const satisfies readonly (keyof Activities)[];
export type ActivityName = (typeof WORLD_ACTIVITIES)[number];

/** The connections to the evaluators of checks, which tests start. */
const EVALUATORS = createAgent();

export function worldActivities(services: Services): Pick<Activities, ActivityName> {
  const outside: Outside = {
    controlPlane: () => services.controlPlane.client(),
    agent: (target) => agentOf(services, target),
    feedback: () => ({ submit: () => Promise.resolve() }),
    evaluators: () => EVALUATORS,
    openStore: () => storeOf(services),
  };
  const proofStores = {
    openStore: (store: string) =>
      services.proofsInFolder ? openArtifactStore(store) : memoryStore(services.kept),
  };
  return track({
    ...releaseActivities(outside, { pollUntil: polls(), lookEveryMs: POLL_MS }),
    // While a release waits for a revision, the control plane advances it.
    awaitDeployed: (input) => {
      const advancing = polls(() => services.advance(input.revisionId));
      const taskQueue = Context.current().info.taskQueue.replace(/(-restore)?-polls$/, '');
      const poller = services.leavesToPoller
        ? { taskQueue, afterMs: 0, rates: new RequestRates() }
        : undefined;
      const now = (): Promise<number> => Promise.resolve(Date.now());
      return pollActivities(outside, advancing, now, poller).awaitDeployed(input);
    },
    lookAtFreezes: ({ at }) =>
      Promise.resolve({
        frozen: services.frozen !== null && at < services.frozen.until ? services.frozen : null,
        nextAt: at + services.unfrozenMs,
      }),
    // Without an issuer, a token is the name of a person, without a signature. Its statement is the real one.
    ...identityActivities(proofStores, {
      verify: ({ token, statement: signed, at: made }, statement, at) => {
        if (services.verifier !== null)
          return services.verifier.verify({ token, statement: signed, at: made }, statement, at);
        if (signed !== statementAudience(statement)) throw unproved('the proof is one of something else');
        const proved = { issuer: 'https://issuer.test', subject: token };
        return Promise.resolve({ who: `${token}@example.com`, proved });
      },
    }),
    sendNotice: ({ receiver, notice }) => {
      services.noticed.push({ receiver: receiver.name, notice });
      return Promise.resolve({ detail: 'sent' });
    },
    ...guardActivities({
      controlPlane: () => services.controlPlane.client(),
      metrics: () => metricsOf(services),
    }),
    writeComment: ({ marker, body }) => {
      services.comments.set(marker, body);
      return Promise.resolve({ detail: 'written' });
    },
  });
}

function agentOf(services: Services, { agentUrl }: TargetSpec): ReturnType<Outside['agent']> {
  const agent = memoryAgent(() =>
    services.deadAddresses.has(agentUrl ?? '') ? undefined : services.answers(),
  );
  return {
    ...agent,
    streamStatelessRun: async (run) => {
      await services.onRun(run.input);
      return agent.streamStatelessRun(run);
    },
  };
}

function storeOf(services: Services): ReturnType<Outside['openStore']> {
  const store = memoryStore(services.kept);
  return {
    ...store,
    open: (digest) => {
      const rows = services.datasets.get(digest);
      if (rows === undefined) return store.open(digest);
      const bytes = Buffer.from(rows);
      return Promise.resolve({ stream: Readable.from([bytes]), sizeBytes: bytes.length });
    },
  };
}

function metricsOf(services: Services): Agent {
  const agent = new MockAgent();
  agent.disableNetConnect();
  agent
    .get('http://metrics.test')
    .intercept({ path: () => true })
    .reply(200, ({ path }) => {
      const { pathname, searchParams } = new URL(path, 'http://metrics.test');
      const at = (name: string): number => Date.parse(searchParams.get(name) ?? '');
      return { value: services.measures({ name: pathname.slice(1), from: at('from'), until: at('until') }) };
    })
    .persist();
  return agent as unknown as Agent;
}
