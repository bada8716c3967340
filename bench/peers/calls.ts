// The HTTP calls of a release, in the order in which Slipway makes them. The stand-in counts requests, which shows a
// difference.
import { setTimeout as delay } from 'node:timers/promises';

import { Agent, request } from 'undici';

import type { Order } from './peer.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 3_000;
const PAUSE_GROWTH = 1.3;
const ARTIFACT = 'no one unpacks this';

const dispatcher = new Agent({ connections: 256 });

/** Reads the deployment. */
export async function find(order: Order): Promise<void> {
  await call(order, 'GET', `/v2/deployments/${order.deploymentId}`);
}

/** Runs a check on the agent. Reads the deployment before and after, to know which revision answered. */
export async function check(order: Order): Promise<void> {
  await find(order);
  const answer = await call(order, 'POST', `/agents/${order.deploymentId}/runs/stream`, {
    assistant_id: 'agent',
    input: { messages: [] },
  });
  if (!answer.includes('hello')) throw new Error(`the agent answered ${answer}`);
  await find(order);
}

/** Uploads the artifact. @returns its path. */
export async function upload(order: Order): Promise<string> {
  const answer = await call(order, 'POST', `/deployments/${order.deploymentId}/upload-url`);
  const { upload_url: url, object_path: path } = JSON.parse(answer) as Record<
    'upload_url' | 'object_path',
    string
  >;
  const { statusCode, body } = await request(url, { dispatcher, method: 'PUT', body: ARTIFACT });
  await body.dump();
  if (statusCode !== 200) throw new Error(`the upload was answered with ${statusCode}`);
  return path;
}

/** Creates the revision. @returns its id. */
export async function patch(order: Order, tarballPath: string): Promise<string> {
  const answer = await call(order, 'PATCH', `/v2/deployments/${order.deploymentId}`, {
    source_revision_config: { graph_config_path: 'graph.json', source_tarball_path: tarballPath },
  });
  return (JSON.parse(answer) as { latest_revision_id: string }).latest_revision_id;
}

/**
 * Polls until the revision is deployed, with the same pauses as Slipway (`src/activities/polling.ts`).
 * @param onLook - called after each poll without success.
 * @throws the signal's reason once it is aborted.
 */
export async function awaitDeployed(
  order: Order,
  revisionId: string,
  signal?: AbortSignal,
  onLook?: () => void,
): Promise<void> {
  let pauseMs = FIRST_PAUSE_MS;
  while ((await statusOf(order, revisionId)) !== 'DEPLOYED') {
    onLook?.();
    await delay(pauseMs, undefined, { signal });
    pauseMs = Math.min(pauseMs * PAUSE_GROWTH, LONGEST_PAUSE_MS);
  }
}

export async function confirm(order: Order, revisionId: string): Promise<void> {
  const status = await statusOf(order, revisionId);
  if (status !== 'DEPLOYED') throw new Error(`revision ${revisionId} is ${status}`);
  await find(order);
  await call(order, 'GET', `/agents/${order.deploymentId}/ok`);
}

/** Lists the revisions, for the release's record. */
export async function list(order: Order): Promise<void> {
  await call(order, 'GET', `/v2/deployments/${order.deploymentId}/revisions?limit=100&offset=0`);
}

/** Restores the good revision. */
export async function redeploy(order: Order): Promise<void> {
  const revision = `/deployments/${order.deploymentId}/revisions/${order.goodRevisionId}`;
  await call(order, 'POST', `/v2${revision}/redeploy`);
}

async function statusOf(order: Order, revisionId: string): Promise<string> {
  const path = `/v2/deployments/${order.deploymentId}/revisions/${revisionId}`;
  return (JSON.parse(await call(order, 'GET', path)) as { status: string }).status;
}

async function call(order: Order, method: string, path: string, body?: object): Promise<string> {
  const { statusCode, body: answer } = await request(`${order.url}${path}`, {
    dispatcher,
    method: method as 'GET',
    headers: { 'x-api-key': 'any', 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
    headersTimeout: 0,
  });
  const text = await answer.text();
  if (statusCode >= 300) throw new Error(`${method} ${path} was answered with ${statusCode}: ${text}`);
  return text;
}
