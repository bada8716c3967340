import { SlipwayError } from '../../../domain/errors.ts';
import { isExecutable, onPath } from './executable.ts';
import { type Found, installOnce, type InstallOptions, listTried } from './installOnce.ts';
import { installWithMaven, TEST_SERVER_VERSION } from './mavenInstall.ts';
import { downloadWithSdk } from './sdkDownload.ts';
import { cachedTestServerPath, testServerFileName } from './temporalCache.ts';

/** Where a test server came from. */
export type TestServerOrigin = 'path' | 'cache' | 'download' | 'maven';

/**
 * Finds Temporal's time-skipping test server, or installs it into the user's cache directory: by the SDK's own download,
 * else, where Java and Maven are installed, from its Java archives (about half a minute).
 *
 * @throws SlipwayError `SLIPWAY_TEST_SERVER_UNAVAILABLE`, which lists each thing that was tried and why it failed.
 * @throws the signal's reason when `signal` is aborted.
 */
export function installTestServer(options: InstallOptions = {}): Promise<Found<TestServerOrigin>> {
  const { env = process.env } = options;
  const destination = cachedTestServerPath(env, TEST_SERVER_VERSION);
  return installOnce(
    {
      name: 'the test server',
      destination,
      find: () => find(env, destination),
      lookedFor: [
        `\`${testServerFileName()}\` on the PATH: there is none`,
        `the cached copy ${destination}: there is none`,
      ],
      ways: WAYS,
      runs: isExecutable,
      failed: unavailable,
    },
    options,
  );
}

async function find(env: NodeJS.ProcessEnv, cached: string): Promise<Found<TestServerOrigin> | undefined> {
  const found = await onPath(testServerFileName(), env, isExecutable);
  if (found !== undefined) return { path: found, origin: 'path' };
  return (await isExecutable(cached)) ? { path: cached, origin: 'cache' } : undefined;
}

const WAYS = [
  {
    origin: 'download',
    name: "the SDK's download of the test server",
    install: downloadWithSdk('createTimeSkipping', 'default'),
  },
  {
    origin: 'maven',
    name: `Maven: io.temporal:temporal-test-server:${TEST_SERVER_VERSION}`,
    install: installWithMaven,
  },
] as const;

function unavailable(tried: readonly string[], cause?: unknown): SlipwayError {
  return new SlipwayError(
    'SLIPWAY_TEST_SERVER_UNAVAILABLE',
    `Temporal's time-skipping test server could not be found or installed. ${listTried(tried)}`,
    {
      hint: `Install Java 11 or newer and Maven, and try again; or put a ${testServerFileName()} on the PATH.`,
      cause,
    },
  );
}
