import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { userInfo } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { cachedTemporalPath, isTemporal } from '../../../../src/temporal/server/installation/executable.ts';
import { findTemporal, installTemporal } from '../../../../src/temporal/server/installation/installation.ts';
import { useFolders, writeExecutable } from '../../../support/temporaryFolder.ts';
import { listen } from '../../../support/listen.ts';

/** A `temporal` that only answers `--version`. */
const STAND_IN = '#!/bin/sh\necho "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)"\n';

const root = useFolders();
let env: NodeJS.ProcessEnv;
let bin: string;

beforeEach(async () => {
  bin = join(root(), 'bin');
  await mkdir(bin);
  env = {
    PATH: [bin, '/usr/bin', '/bin'].join(delimiter),
    XDG_CACHE_HOME: join(root(), 'cache'),
    // The proxy blocks the SDK's download wherever the test runs.
    HTTPS_PROXY: 'http://127.0.0.1:9',
  };
});

describe('finding Temporal', () => {
  it('prefers the one on the PATH to the cached one', async () => {
    await writeExecutable(join(bin, 'temporal'), STAND_IN);
    await writeExecutable(cachedTemporalPath(env), STAND_IN);
    expect(await findTemporal(env)).toEqual({ path: join(bin, 'temporal'), origin: 'path' });
  });

  it('uses the cached one if the one on the PATH does not run', async () => {
    await writeExecutable(join(bin, 'temporal'), '#!/bin/sh\nexit 1\n');
    await writeExecutable(cachedTemporalPath(env), STAND_IN);
    expect(await findTemporal(env)).toEqual({ path: cachedTemporalPath(env), origin: 'cache' });
  });

  it('finds nothing if the only file of that name is another program', async () => {
    await writeExecutable(join(bin, 'temporal'), '#!/bin/sh\necho "temporal fever"\n');
    expect(await findTemporal(env)).toBeUndefined();
  });

  it.each([
    ['linux', { HOME: '/home/ada' }, '/home/ada/.cache/slipway/temporal/1.5.1/temporal'],
    ['linux', { HOME: '/home/ada', XDG_CACHE_HOME: '/cache' }, '/cache/slipway/temporal/1.5.1/temporal'],
    [
      'linux',
      { HOME: '/home/ada', XDG_CACHE_HOME: 'cache' },
      '/home/ada/.cache/slipway/temporal/1.5.1/temporal',
    ],
    ['linux', { HOME: '' }, `${userInfo().homedir}/.cache/slipway/temporal/1.5.1/temporal`],
    ['darwin', { HOME: '/Users/ada' }, '/Users/ada/Library/Caches/slipway/temporal/1.5.1/temporal'],
    ['win32', { LOCALAPPDATA: '/C/Local' }, '/C/Local/slipway/temporal/1.5.1/temporal.exe'],
  ] as const)('uses the cache folder of %s (%o)', (system, variables, path) => {
    expect(cachedTemporalPath(variables, system)).toBe(path);
  });
});

describe('installing Temporal', () => {
  it('names the cache folder if that cannot be written, and how to choose another', async () => {
    await writeFile(join(root(), 'cache'), 'a file');
    await expect(installTemporal({ env })).rejects.toMatchObject({
      code: 'SLIPWAY_TEMPORAL_NOT_INSTALLED',
      place: dirname(cachedTemporalPath(env)),
      hint: 'Make it writable, or set XDG_CACHE_HOME to a folder that is.',
    });
  });

  it('builds it with Go if the download cannot be reached, and leaves only the executable in the cache', async () => {
    await goThatBuilds(STAND_IN);
    const lines: string[] = [];
    const installed = await installTemporal({ env, onProgress: (line) => lines.push(line) });
    expect(installed).toEqual({ path: cachedTemporalPath(env), origin: 'go' });
    expect(await isTemporal(installed.path)).toBe(true);
    expect(await readdir(dirname(installed.path))).toEqual(['temporal']);
    expect(lines.some((line) => line.startsWith('that did not work: '))).toBe(true);
    expect(await findTemporal(env)).toEqual({ path: installed.path, origin: 'cache' });
  });

  it('makes the second of two installations wait for the first and use its result', async () => {
    await goThatBuilds(STAND_IN);
    const [first, second] = await Promise.all([installTemporal({ env }), installTemporal({ env })]);
    expect([first.origin, second.origin].sort()).toEqual(['cache', 'go']);
    expect(second.path).toBe(first.path);
  });

  it('takes over from an installation that was killed', async () => {
    await goThatBuilds(STAND_IN);
    const cache = dirname(cachedTemporalPath(env));
    await mkdir(cache, { recursive: true });
    const lock = join(cache, 'install.lock');
    await writeFile(lock, '');
    const longAgo = new Date(Date.now() - 60_000);
    await utimes(lock, longAgo, longAgo);
    const leftBehind = join(cache, 'installing-abc');
    await mkdir(leftBehind);
    const hoursAgo = new Date(Date.now() - 2 * 3_600_000);
    await utimes(leftBehind, hoursAgo, hoursAgo);
    expect((await installTemporal({ env })).origin).toBe('go');
    expect(await readdir(cache)).toEqual(['temporal']);
  });

  it('lists each attempt and why it failed', async () => {
    await goThat('echo "dial tcp: no route" >&2\nexit 1');
    const failure = installTemporal({ env });
    await expect(failure).rejects.toMatchObject({ code: 'SLIPWAY_TEMPORAL_NOT_INSTALLED', exitCode: 6 });
    await expect(failure).rejects.toThrow(
      /on the PATH: [^\n]*\n.*cached copy [^\n]*\n.*download[^\n]*\n.*go install.*no route/,
    );
  });

  it('reports that Go is not installed either', async () => {
    await expect(installTemporal({ env })).rejects.toThrow(/go install .*: Go is not installed/);
  });

  it('rejects a build that does not run', async () => {
    await goThatBuilds('#!/bin/sh\nexit 1\n');
    await expect(installTemporal({ env })).rejects.toThrow(/does not run/);
    expect(await findTemporal(env)).toBeUndefined();
  });

  it('ends when its signal aborts, and leaves no partial files', async () => {
    const stop = new AbortController();
    await goThat('echo "go: downloading something"\nexec sleep 600');
    const installing = installTemporal({
      env,
      signal: stop.signal,
      onProgress: (line) => {
        if (line.startsWith('installing Temporal by go install')) stop.abort(new Error('enough'));
      },
    });
    await expect(installing).rejects.toThrow('enough');
    expect(await readdir(dirname(cachedTemporalPath(env)))).toEqual([]);
  });

  it('gives up on a download without progress', async () => {
    await goThatBuilds(STAND_IN);
    const silent = createServer();
    try {
      const lines: string[] = [];
      const installed = await installTemporal({
        env: { ...env, HTTPS_PROXY: await listen(silent) },
        downloadStallMs: 500,
        onProgress: (line) => lines.push(line),
      });
      expect(installed.origin).toBe('go');
      expect(lines.some((line) => line.includes('no data for'))).toBe(true);
    } finally {
      silent.close();
    }
  });
});

async function goThatBuilds(content: string): Promise<void> {
  const made = join(root(), 'made');
  await writeExecutable(made, content);
  await goThat(`cp '${made}' "$GOBIN/temporal"`);
}

function goThat(script: string): Promise<void> {
  return writeExecutable(join(bin, 'go'), `#!/bin/sh\n[ "$1" = version ] && exit 0\n${script}\n`);
}
