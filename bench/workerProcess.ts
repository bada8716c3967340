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
export async function startWorker({ temporal, folder }: Engine, home: string): Promise<ChildProcess> {
  const { address, namespace, taskQueue } = temporal.settings;
  const started = spawn(process.execPath, [SLIPWAY, 'worker', '--json'], {
    env: {
      ...process.env,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      SLIPWAY_TASK_QUEUE: taskQueue,
      SLIPWAY_HOME: join(folder, home),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(createInterface({ input: started.stdout }), 'line');
  return started;
}
