import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { makeHome, slipwayHome } from '../../src/config/home.ts';
import { useFolders } from '../support/temporaryFolder.ts';

const folder = useFolders();

describe('the home', () => {
  it('is .slipway in the working folder by default', () => {
    expect(slipwayHome({})).toBe(join(process.cwd(), '.slipway'));
    expect(slipwayHome({ SLIPWAY_HOME: '' })).toBe(join(process.cwd(), '.slipway'));
    expect(slipwayHome({ SLIPWAY_HOME: '/var/lib/slipway' })).toBe('/var/lib/slipway');
  });

  it('is beside slipway.yaml, also for a command in a folder below', async () => {
    await writeFile(join(folder(), 'slipway.yaml'), '');
    expect(slipwayHome({}, join(folder(), 'src', 'deep'))).toBe(join(folder(), '.slipway'));
    const relative = { SLIPWAY_HOME: 'named' };
    expect(slipwayHome(relative, join(folder(), 'src'))).toBe(join(process.cwd(), 'named'));
  });

  it('is ignored by git, because it contains keys', async () => {
    const home = join(folder(), '.slipway');
    await makeHome(home);
    expect(await readFile(join(home, '.gitignore'), 'utf8')).toBe('*\n');
  });

  it('keeps an existing .gitignore', async () => {
    const home = join(folder(), '.slipway');
    await makeHome(home);
    await writeFile(join(home, '.gitignore'), 'logs\n');
    await makeHome(home);
    expect(await readFile(join(home, '.gitignore'), 'utf8')).toBe('logs\n');
  });

  it('completes a .gitignore that a full disk left empty', async () => {
    const home = join(folder(), '.slipway');
    await makeHome(home);
    await writeFile(join(home, '.gitignore'), '');
    await makeHome(home);
    expect(await readFile(join(home, '.gitignore'), 'utf8')).toBe('*\n');
  });

  it('is named in the error if it cannot be created', async () => {
    const home = join(folder(), 'file', '.slipway');
    await writeFile(join(folder(), 'file'), '');
    await expect(makeHome(home)).rejects.toMatchObject({
      code: 'SLIPWAY_USAGE',
      exitCode: 1,
      message: `the folder for Slipway’s state cannot be written: ENOTDIR: not a directory, mkdir '${home}'`,
      place: home,
      hint: 'choose another one with --home or SLIPWAY_HOME',
    });
  });

  it.runIf(process.platform === 'linux')('cannot be below /proc, which is reported at once', async () => {
    await expect(makeHome('/proc/slipway/home')).rejects.toMatchObject({
      code: 'SLIPWAY_USAGE',
      message: expect.stringContaining("ENOENT: no such file or directory, mkdir '/proc/slipway'") as string,
    });
  });

  it('cannot be a file', async () => {
    const home = join(folder(), 'file');
    await writeFile(home, '');
    await expect(makeHome(home)).rejects.toMatchObject({ code: 'SLIPWAY_USAGE', place: home });
  });

  it('gets no .gitignore in a folder of another name, which may be a repository', async () => {
    await makeHome(folder());
    expect(await readdir(folder())).toEqual([]);
  });
});
