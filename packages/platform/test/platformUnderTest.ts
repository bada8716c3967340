import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { BUILT_COMMAND } from '../../../test/support/builtCommand.ts';
import { FROM_SOURCE } from '../../../test/support/fromSource.ts';
import { startByCommand } from './simplePlatform.ts';
import { QUICK_START } from '../../../test/support/quickStart.ts';

/** A platform in its own process, with real agents. */
export interface PlatformUnderTest {
  readonly child: ChildProcess;
  readonly url: string;
  readonly apiKey: string;
}

/** Starts a platform on a home, from the build or the sources. @throws Error with the output if it ends. */
export async function startPlatformUnderTest(home: string): Promise<PlatformUnderTest> {
  const command =
    BUILT_COMMAND === undefined
      ? [...FROM_SOURCE, fileURLToPath(new URL('./fixtures/platformProcess.ts', import.meta.url)), home]
      : [BUILT_COMMAND, 'platform', '--json', '--port', '0', '--home', home];
  const { child, ready } = await startByCommand([process.execPath, ...QUICK_START, ...command], {
    SLIPWAY_LOG_LEVEL: 'info',
  });
  const { controlPlane: url, apiKey } = ready;
  if (url === undefined || apiKey === undefined)
    throw new Error(`The platform said ${JSON.stringify(ready)}`);
  return { child, url, apiKey };
}
