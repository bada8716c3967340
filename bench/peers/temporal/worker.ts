import { fileURLToPath } from 'node:url';

import {
  DefaultLogger,
  makeTelemetryFilterString,
  NativeConnection,
  Runtime,
  Worker,
} from '@temporalio/worker';

import { bundleSources } from '../../../test/support/fromSource.ts';
import { ready, settingsOf } from '../processes.ts';
import * as activities from './activities.ts';

/** The settings that {@link startScript} passes. */
export interface TemporalWorkerSettings {
  readonly address: string;
  /** Absent: the worker bundles the workflows when it starts, and its other options are the SDK's defaults. */
  readonly bundlePath?: string;
}

/** Slots for all releases that wait at once. */
const SLOTS = {
  maxConcurrentActivityTaskExecutions: 5_000,
  maxConcurrentWorkflowTaskExecutions: 100,
  maxConcurrentLocalActivityExecutions: 200,
  maxCachedWorkflows: 2_000,
} as const;

const { address, bundlePath } = settingsOf() as TemporalWorkerSettings;
const logging = { filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }) };
Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging } });
const common = { connection: await NativeConnection.connect({ address }), taskQueue: 'releases', activities };
const workflowsPath = fileURLToPath(new URL('./workflows.ts', import.meta.url));
const worker = await Worker.create(
  bundlePath === undefined
    ? { ...common, workflowsPath, bundlerOptions: { webpackConfigHook: bundleSources } }
    : { ...common, ...SLOTS, workflowBundle: { codePath: bundlePath } },
);
const running = worker.run();
ready();
await running;
