import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { WorkflowNotFoundError } from '@temporalio/client';

import { digestFile } from '../src/artifact/digest.ts';
import { openArtifactStore } from '../src/artifact/openArtifactStore.ts';
import type { TarballArtifact } from '../src/domain/artifact/artifact.ts';
import type { ReleaseRequest, ReleaseResult } from '../src/domain/release/release.ts';
import { workflowResult } from '../src/domain/workflowResult.ts';
import type { TemporalConnection } from '../src/temporal/client/connection.ts';
import { RIGHT_ANSWER } from './standIn.ts';

/** The environment variable that holds the stand-in's API key: any text. */
export const KEY_VARIABLE = 'SLIPWAY_BENCH_KEY';

/**
 * A release of the artifact on a deployment of the stand-in, with one check.
 * @param url - the stand-in's.
 */
export function releaseRequest(
  url: string,
  deployment: { readonly id: string; readonly name: string },
  artifact: TarballArtifact,
): ReleaseRequest {
  return {
    requestKey: `sha256:${randomUUID()}`,
    target: {
      name: deployment.name,
      controlPlane: url,
      apiKey: { from: `env:${KEY_VARIABLE}` },
      deployment: deployment.name,
      deploymentId: deployment.id,
      source: 'internal_source',
      sourceConfig: {},
    },
    artifact,
    graphConfigPath: 'graph.json',
    checks: [
      {
        name: 'greets',
        assistant: 'agent',
        input: { messages: [] },
        expect: { contains: RIGHT_ANSWER },
        timeoutMs: 60_000,
      },
    ],
    steps: {},
    soakMs: 0,
    queue: 'latest',
    recordStore: artifact.store,
    requestedBy: { who: 'bench', from: 'bench' },
  };
}

export async function putArtifact(folder: string): Promise<TarballArtifact> {
  const file = join(folder, 'source.tar.gz');
  const content = 'no one unpacks this';
  await writeFile(file, content);
  const store = openArtifactStore(join(folder, 'store'));
  const digest = await digestFile(file);
  await store.put(file, digest);
  return { kind: 'tarball', digest, sizeBytes: content.length, store: store.url };
}

/** The pause between two looks for a workflow that has not started yet. It grows, because each look costs the server time. */
const FIRST_PAUSE_MS = 5;
const PAUSE_GROWTH = 1.5;
const LONGEST_PAUSE_MS = 250;

/** The result of a release. Its workflow starts a moment after the request was accepted. */
export async function releaseResult(
  { client }: Pick<TemporalConnection, 'client'>,
  workflowId: string,
): Promise<ReleaseResult> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * PAUSE_GROWTH, LONGEST_PAUSE_MS)) {
    try {
      return await workflowResult<ReleaseResult>(client.workflow.getHandle(workflowId));
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
      await delay(pauseMs);
    }
  }
}
