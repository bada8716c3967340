import { mkdir, readdir, readFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import {
  installTestServer,
  TEST_SERVER_VERSION,
} from '../../../../src/temporal/server/installation/testServerInstallation.ts';
import { cachedTestServerPath } from '../../../../src/temporal/server/installation/executable.ts';
import { useFolders, writeExecutable } from '../../../support/temporaryFolder.ts';

const root = useFolders();
let bin: string;
let env: NodeJS.ProcessEnv;

beforeEach(async () => {
  bin = join(root(), 'bin');
  await mkdir(bin);
  env = {
    // Excludes the machine's own tools, which may include Java and Maven.
    PATH: [bin, join(root(), 'tools')].join(delimiter),
    XDG_CACHE_HOME: join(root(), 'cache'),
    // The proxy blocks the SDK's download wherever the test runs.
    HTTPS_PROXY: 'http://127.0.0.1:9',
  };
});

describe('the test server', () => {
  it('is taken from the PATH', async () => {
    const mine = join(bin, 'temporal-test-server');
    await writeExecutable(mine, '#!/bin/sh\n');
    expect(await installTestServer({ env })).toEqual({ path: mine, origin: 'path' });
  });

  it('is assembled once from its Java archives if the download cannot be reached', async () => {
    await writeExecutable(join(bin, 'java'), '#!/bin/sh\n');
    const fetches = '[ "$1" = --version ] || { /bin/mkdir lib && echo archive > lib/server.jar; }';
    await writeExecutable(join(bin, 'mvn'), `#!/bin/sh\n${fetches}\n`);
    const lines: string[] = [];
    const { path, origin } = await installTestServer({ env, onProgress: (line) => lines.push(line) });
    expect(origin).toBe('maven');
    expect(path).toBe(cachedTestServerPath(env, TEST_SERVER_VERSION));
    expect(lines.some((line) => line.startsWith('that did not work: '))).toBe(true);
    expect((await readdir(dirname(path))).sort()).toEqual(['lib', 'temporal-test-server']);
    expect(await readdir(join(dirname(path), 'lib'))).toEqual(['server.jar']);
    expect(await readFile(path, 'utf8')).toContain('io.temporal.testserver.TestServer "$@"');
    expect(await installTestServer({ env })).toEqual({ path, origin: 'cache' });
  });

  it('is unavailable without the download, Java or Maven, and the error lists each', async () => {
    const failure = installTestServer({ env });
    await expect(failure).rejects.toMatchObject({ code: 'SLIPWAY_TEST_SERVER_UNAVAILABLE', exitCode: 6 });
    await expect(failure).rejects.toThrow(
      /on the PATH: [^\n]*\n.*cached copy [^\n]*\n.*SDK's download[^\n]*\n.*Maven: .*: Java is not installed/,
    );
  });
});
