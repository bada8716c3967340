import { createHash } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { CancelledFailure } from '@temporalio/activity';
import { beforeEach, describe, expect, it } from 'vitest';

import { openArtifactStore } from '../../../src/artifact/openArtifactStore.ts';
import type { TarballArtifact } from '../../../src/domain/artifact/artifact.ts';
import { answers, type FaultyService, type Handler, json, until } from '../../clients/faultyService.ts';
import {
  activitiesUnderTest,
  DEPLOYMENT_ID,
  failureOf,
  startRoutes,
  targetOn,
} from '../activitiesUnderTest.ts';
import { useFolders } from '../../support/temporaryFolder.ts';

const CONTENT = 'the bytes of an artifact, '.repeat(40_000);
const UPLOAD_URL_PATH = `/deployments/${DEPLOYMENT_ID}/upload-url`;

const folder = useFolders();
let artifact: TarballArtifact;

beforeEach(async () => {
  const file = join(folder(), 'source.tar.gz');
  await writeFile(file, CONTENT);
  const digest = `sha256:${createHash('sha256').update(CONTENT).digest('hex')}`;
  const store = openArtifactStore(join(folder(), 'store'));
  await store.put(file, digest);
  artifact = { kind: 'tarball', digest, sizeBytes: CONTENT.length, store: store.url };
});

/** A control plane that signs a new URL for every request, and stores uploads unless the test overrides it. */
async function startPlane(
  put: Handler = (_, response) => response.writeHead(200).end(),
): Promise<FaultyService> {
  let signed = 0;
  const plane = await startRoutes({
    [`POST ${UPLOAD_URL_PATH}`]: ({ headers }, response) => {
      signed += 1;
      json(response, 201, {
        upload_url: `http://${headers.host}/store?signature=${signed}`,
        object_path: `uploads/${signed}.tar.gz`,
      });
    },
    'PUT /store': put,
  });
  return plane;
}

function inputOn(plane: FaultyService) {
  return { target: targetOn(plane.url), deploymentId: DEPLOYMENT_ID, artifact };
}

describe('uploadArtifact', () => {
  it('streams the stored artifact to the signed URL and returns only the object’s path', async () => {
    const plane = await startPlane();
    const activities = activitiesUnderTest();
    const began = performance.now();
    const result = await activities.uploadArtifact(inputOn(plane));
    const tookMs = performance.now() - began;
    expect(result).toEqual({ objectPath: 'uploads/1.tar.gz', attempt: 1 });
    const [, put] = plane.requests;
    expect(put?.body).toBe(CONTENT);
    expect(put?.headers['content-length']).toBe(String(CONTENT.length));
    // Temporal bills each heartbeat like another event, so the first one comes after half a second.
    expect(activities.heartbeats.length).toBeLessThanOrEqual(tookMs / 500);
  });

  it('requests a fresh URL at every attempt, and discloses none of them if the store rejects it', async () => {
    const plane = await startPlane(({ url }, response) =>
      json(response, 503, { detail: `no room at ${url}` }),
    );
    const activities = activitiesUnderTest();
    for (const signature of ['1', '2']) {
      const failure = await failureOf(activities.uploadArtifact(inputOn(plane)));
      expect(failure).toMatchObject({ type: 'SLIPWAY_SERVICE_ERROR', nonRetryable: false });
      expect(failure.message).toContain('no room');
      expect(plane.requests.at(-1)?.url).toBe(`/store?signature=${signature}`);
    }
  });

  it.each([403, 400, 404])(
    'is tried with three URLs if the store answers %i, as to one that has expired',
    async (status) => {
      const plane = await startPlane((_, response) =>
        json(response, status, { detail: 'Request has expired' }),
      );
      for (const attempt of [1, 2, 3]) {
        const failure = await failureOf(activitiesUnderTest({ attempt }).uploadArtifact(inputOn(plane)));
        expect(failure.nonRetryable).toBe(attempt === 3);
        expect(failure.message).toContain('Request has expired');
      }
    },
  );

  it('is not tried again if the store answers that the artifact is too large', async () => {
    const plane = await startPlane((_, response) => json(response, 413, {}));
    const failure = await failureOf(activitiesUnderTest().uploadArtifact(inputOn(plane)));
    expect(failure).toMatchObject({ type: 'SLIPWAY_REFUSED', nonRetryable: true });
  });

  it('is tried again if the control plane does not show its new deployment yet', async () => {
    const failure = await failureOf(activitiesUnderTest().uploadArtifact(inputOn(await startRoutes({}))));
    expect(failure).toMatchObject({ type: 'SLIPWAY_NOT_FOUND', nonRetryable: false });
  });

  it('detects a damaged artifact before it sends anything', async () => {
    const digits = artifact.digest.slice('sha256:'.length);
    const file = join(folder(), 'store', 'artifacts', 'sha256', digits.slice(0, 2), `${digits}.tar.gz`);
    await writeFile(file, CONTENT.replace('the', 'any'));
    const plane = await startPlane();
    const failure = await failureOf(activitiesUnderTest().uploadArtifact(inputOn(plane)));
    expect(failure).toMatchObject({ type: 'SLIPWAY_ARTIFACT_CORRUPT', nonRetryable: true });
    expect(plane.requests).toEqual([]);
  });

  it('leaves no file open if it gets no URL', async () => {
    const plane = await startRoutes({ [`POST ${UPLOAD_URL_PATH}`]: answers(503, {}) });
    const activities = activitiesUnderTest();
    await failureOf(activities.uploadArtifact(inputOn(plane)));
    const before = await openFiles();
    for (let attempt = 0; attempt < 20; attempt += 1)
      await failureOf(activities.uploadArtifact(inputOn(plane)));
    expect((await openFiles()) - before).toBeLessThan(10);
  });

  it('heartbeats its progress while the store is slow to answer', async () => {
    const activities = activitiesUnderTest();
    const plane = await startPlane((_, response) => {
      const sent = activities.heartbeats.length;
      void until(() => activities.heartbeats.length > sent).then(() => response.writeHead(200).end());
    });
    await activities.uploadArtifact(inputOn(plane));
    const sizeBytes = CONTENT.length;
    expect(activities.said().at(-1)).toBe(`sent ${sizeBytes} of ${sizeBytes} bytes`);
  });

  it('ends when it is cancelled', async () => {
    const plane = await startPlane(() => undefined);
    const activities = activitiesUnderTest();
    const canceled = expect(activities.uploadArtifact(inputOn(plane))).rejects.toBeInstanceOf(
      CancelledFailure,
    );
    await until(() => plane.requests.length === 2);
    activities.environment.cancel();
    await canceled;
  });
});

/** How many files this process has open; 0 if the system does not report it. */
function openFiles(): Promise<number> {
  return readdir('/proc/self/fd').then(
    (files) => files.length,
    () => 0,
  );
}
