import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';

import type { TarballArtifact } from '../../../src/domain/artifact/artifact.ts';
import type { ReleaseRequest } from '../../../src/domain/release/release.ts';
import { targetWorkflowId } from '../../../src/domain/target/targetSpec.ts';
import { rollbackSignal } from '../../../src/messages/target.ts';
import { submitRelease } from '../../../src/temporal/client/target/targetClient.ts';
import { bundleWorkflows, type Engine, startTemporal } from '../../engine.ts';
import { KEY_VARIABLE, putArtifact, releaseRequest, releaseResult } from '../../release.ts';
import type { Order, Outcome, Peer } from '../peer.ts';
import { kill, startScript } from '../processes.ts';
import type { SlipwayWorkerSettings } from './worker.ts';

/** The events of a workflow task, before those of its commands. */
const EVENTS_OF_TASK = 3;

/** Slipway's worker on a real Temporal dev server, both started as by `slipway dev`. */
export async function createPeer(): Promise<Peer> {
  process.env[KEY_VARIABLE] = randomUUID();
  let engine: Engine;
  let artifact: TarballArtifact;
  let settings: SlipwayWorkerSettings;
  let worker: ChildProcess;
  const workflowIds = new Map<Order['id'], string>();
  const startWorker = async (): Promise<void> => {
    worker = await startScript(new URL('./worker.ts', import.meta.url), settings);
  };
  return Promise.resolve({
    start: async (folder: string) => {
      engine = await startTemporal(() => undefined);
      artifact = await putArtifact(folder);
      const { address, namespace, taskQueue } = engine.temporal.settings;
      const bundlePath = await bundleWorkflows(folder);
      settings = { address, namespace, taskQueue, bundlePath, home: join(folder, 'home') };
      await startWorker();
    },
    release: async (order: Order) => {
      const request = requestOf(order, artifact);
      const { releaseId } = await submitRelease(engine.temporal, request);
      const workflowId = `${targetWorkflowId(request.target)}/${releaseId}`;
      workflowIds.set(order.id, workflowId);
      return outcomeOf(engine, workflowId);
    },
    rollBack: async (order: Order) => {
      const target = targetWorkflowId(requestOf(order, artifact).target);
      const message = { who: 'bench', reason: 'measuring', to: order.goodRevisionId };
      await engine.temporal.client.workflow.getHandle(target).signal(rollbackSignal, message);
    },
    restartWorker: async () => {
      await kill(worker);
      await startWorker();
    },
    workerPid: () => Promise.resolve(worker.pid ?? 0),
    events: async (order: Order) => {
      const target = targetWorkflowId(requestOf(order, artifact).target);
      const ids = [target, workflowIds.get(order.id) ?? ''];
      const [ofTarget = [], ofRelease = []] = await Promise.all(
        ids.map(
          async (id) => (await engine.temporal.client.workflow.getHandle(id).fetchHistory()).events ?? [],
        ),
      );
      const [, ...further] = ofTarget.flatMap(
        ({ workflowExecutionUpdateAcceptedEventAttributes: one }, at) =>
          one == null ? [] : [at - EVENTS_OF_TASK],
      );
      return ofTarget.length - (further.at(-1) ?? 0) + ofRelease.length;
    },
    close: async () => {
      await kill(worker);
      await engine.close();
    },
  });
}

function requestOf({ url, name, deploymentId }: Order, artifact: TarballArtifact): ReleaseRequest {
  return releaseRequest(url, { name, id: deploymentId }, artifact);
}

async function outcomeOf({ temporal }: Engine, workflowId: string): Promise<Outcome> {
  const { outcome, reason } = await releaseResult(temporal, workflowId);
  if (outcome === 'released' || outcome === 'rolled_back') return outcome;
  throw new Error(`the release ended ${outcome}: ${reason}`);
}
