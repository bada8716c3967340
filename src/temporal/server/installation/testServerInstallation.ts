import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { platform } from 'node:os';
import { join } from 'node:path';

import { cachedTestServerPath, isExecutable, testServerFileName, type Program } from './executable.ts';
import { type Found, installOnce, type InstallOptions } from './installOnce.ts';
import { type InstallAttempt, type InstallTask, runToEnd, repeatWhile } from './installTask.ts';
import { downloadWithSdk } from './sdkDownload.ts';

/** The newest test server with which rehearsals were seen to work. */
export const TEST_SERVER_VERSION = '1.38.0';

type TestServer = Found<'path' | 'cache' | 'download' | 'maven'>;

/**
 * Finds Temporal's time-skipping test server, or installs it into the user's cache directory: with the SDK's own
 * download, else, if Java and Maven are installed, from its Java archives (about half a minute).
 * @throws SlipwayError `SLIPWAY_TEST_SERVER_UNAVAILABLE`, which lists each attempt and why it failed.
 * @throws the signal's reason if `signal` is aborted.
 */
export function installTestServer(options: InstallOptions): Promise<TestServer> {
  const program: Program = {
    fileName: testServerFileName(),
    destination: cachedTestServerPath(options.env ?? process.env, TEST_SERVER_VERSION),
    runs: isExecutable,
  };
  return installOnce({ name: 'the test server', ...program, ways: WAYS, failure: UNAVAILABLE }, options);
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

const UNAVAILABLE = {
  code: 'SLIPWAY_TEST_SERVER_UNAVAILABLE',
  message: "Temporal's time-skipping test server could not be found or installed",
  hint: `Install Java 11 or newer and Maven, and try again; or put a ${testServerFileName()} on the PATH.`,
} as const;

/** Creates the test server from its Java archives, which Maven fetches, and a script that starts them. */
async function installWithMaven(task: InstallTask): Promise<InstallAttempt> {
  const { workspace, cacheDirectory, onProgress, env, signal } = task;
  if (platform() === 'win32') return { ok: false, reason: 'it starts Java from a shell script' };
  const java = await runToEnd({ file: 'java', args: ['-version'], env, cwd: workspace });
  if (!java.ok) return { ok: false, reason: `Java is not installed (${java.reason})` };
  const maven = await runToEnd({ file: 'mvn', args: ['--version'], env, cwd: workspace });
  if (!maven.ok) return { ok: false, reason: `Maven is not installed (${maven.reason})` };

  await writeFile(join(workspace, 'pom.xml'), PROJECT);
  let fetched = 0;
  const copied = await repeatWhile(
    onProgress,
    () => `fetching the test server ${TEST_SERVER_VERSION} with Maven, ${fetched} files so far`,
    () =>
      runToEnd({
        file: 'mvn',
        args: ['--batch-mode', 'dependency:copy-dependencies', '-DoutputDirectory=lib'],
        env,
        cwd: workspace,
        onLine: (line) => {
          if (line.includes('Downloaded from')) fetched += 1;
        },
        signal,
      }),
  );
  if (!copied.ok) return copied;
  const archives = join(cacheDirectory, 'lib');
  await rm(archives, { recursive: true, force: true });
  await rename(join(workspace, 'lib'), archives);
  const script = join(workspace, 'script');
  await writeFile(script, SCRIPT);
  await chmod(script, 0o755);
  return { ok: true, path: script };
}

const PROJECT = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>slipway</groupId>
  <artifactId>test-server</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>io.temporal</groupId>
      <artifactId>temporal-test-server</artifactId>
      <version>${TEST_SERVER_VERSION}</version>
    </dependency>
  </dependencies>
</project>
`;

/** The server lives for seconds, so the options favor a quick start over peak speed. */
const SCRIPT = `#!/bin/sh
exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$(dirname "$0")/lib/*" io.temporal.testserver.TestServer "$@"
`;
