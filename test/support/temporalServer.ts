import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { defineSearchAttributeKey, IllegalStateError } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { TestProject } from 'vitest/node';

import { SEARCH_ATTRIBUTES } from '../../src/domain/searchAttributes.ts';
import { TUNING } from '../../src/temporal/server/devServer.ts';
import { installTemporal } from '../../src/temporal/server/installation/installation.ts';
import type { WorkerMode } from '../workflows/harness.ts';
import { workflowCode } from './workflowCode.ts';

declare module 'vitest' {
  interface ProvidedContext {
    temporalAddress: string;
    workflowBundle: string;
    /** Which workers a project's tests use (`vitest.config.ts`). */
    workerMode: WorkerMode;
  }
}

/** One real Temporal dev server and one bundle of the current workflows, for all tests of the project. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  installRuntime();
  const server = await startTemporalServer();
  project.provide('temporalAddress', server.address);
  project.provide('workflowBundle', await bundleWorkflows());
  return server.close;
}

/** Once per process: it may set up several projects. */
function installRuntime(): void {
  try {
    Runtime.install({ logger: new DefaultLogger('ERROR') });
  } catch (error) {
    if (!(error instanceof IllegalStateError)) throw error;
  }
}

/**
 * The server deletes a run only after it has saved that the run's last tasks are done. By default it saves this every 30 s for
 * one kind of task, and every 10 s for the other.
 */
const QUICK_DELETION = ['transfer', 'visibility'].flatMap((kind) => [
  '--dynamic-config-value',
  `history.${kind}ProcessorUpdateAckInterval="500ms"`,
]);

/** Starts a real Temporal dev server that keeps nothing, tuned for many short workflows. */
export async function startTemporalServer(): Promise<{ address: string; close: () => Promise<void> }> {
  const { path } = await installTemporal({ onProgress: () => undefined });
  // The server inherits it. With the default, its garbage collector takes a twentieth of the tests' CPU time.
  process.env['GOGC'] ??= '400';
  const environment = await TestWorkflowEnvironment.createLocal({
    server: {
      executable: { type: 'existing-path', path },
      searchAttributes: Object.values(SEARCH_ATTRIBUTES).map((name) =>
        defineSearchAttributeKey(name, 'KEYWORD'),
      ),
      extraArgs: [...TUNING, ...QUICK_DELETION],
    },
  });
  return { address: environment.address, close: () => environment.teardown() };
}

/** Bundles the current workflows. @returns the bundle's path. */
export async function bundleWorkflows(): Promise<string> {
  const folder = fileURLToPath(new URL('../../node_modules/.cache/slipway-test/', import.meta.url));
  await mkdir(folder, { recursive: true });
  const bundle = `${folder}workflow-bundle-${process.pid}.js`;
  await writeFile(bundle, await workflowCode());
  return bundle;
}
