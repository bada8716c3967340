import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { BUILT_COMMAND } from '../../../test/support/builtCommand.ts';
import { FROM_SOURCE } from '../../../test/support/fromSource.ts';
import { QUICK_START } from '../../../test/support/quickStart.ts';

/** A platform as a process of its own, with real agents. */
export interface PlatformUnderTest {
  readonly child: ChildProcess;
  readonly url: string;
  readonly apiKey: string;
}

/** Starts a platform on a home, from the build where that is one of these sources. @throws Error with what it ended with. */
export async function startPlatformUnderTest(home: string): Promise<PlatformUnderTest> {
  const command =
    BUILT_COMMAND === undefined
      ? [...FROM_SOURCE, fileURLToPath(new URL('./fixtures/platformProcess.ts', import.meta.url)), home]
      : [BUILT_COMMAND, 'platform', '--json', '--port', '0', '--home', home];
  const child = spawn(process.execPath, [...QUICK_START, ...command], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, SLIPWAY_LOG_LEVEL: 'info' },
  });
  const errors: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([first]) => String(first)),
    once(child, 'exit').then(() => {
      throw new Error(`The platform ended:\n${errors.join('\n')}`);
    }),
  ]);
  const { event, controlPlane: url, apiKey } = JSON.parse(line) as Partial<Record<string, string>>;
  if (url === undefined || apiKey === undefined) throw new Error(`The platform said ${event}: ${line}`);
  return { child, url, apiKey };
}
