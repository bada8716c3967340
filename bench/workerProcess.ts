import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import type { Engine } from './engine.ts';

const SLIPWAY = fileURLToPath(new URL('../bin/slipway.js', import.meta.url));

/**
 * Starts `slipway worker`, from the build, in its own process. Resolves when it polls.
 * @param home - a folder inside the engine's. In a killed worker's home, its successor finds the killed worker's steps.
 */
export async function startWorker(engine: Engine, home: string): Promise<ChildProcess> {
  return (await startSlipway(engine, home, ['worker'])).child;
}

/** Starts a `slipway` command, from the build, in its own process. Resolves with its first event. */
export async function startSlipway(
  { temporal, folder }: Engine,
  home: string,
  words: readonly string[],
): Promise<{ readonly child: ChildProcess; readonly event: unknown }> {
  const { address, namespace, taskQueue } = temporal.settings;
  const child = spawn(process.execPath, [SLIPWAY, ...words, '--json'], {
    env: {
      ...process.env,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      SLIPWAY_TASK_QUEUE: taskQueue,
      SLIPWAY_HOME: join(folder, home),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, event: JSON.parse(line) };
}
