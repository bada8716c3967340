import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { loadApiKey, loadMasterKey, secretsKeyOf } from '../../src/store/keyFiles.ts';
import { temporaryFolder } from '../../../../test/support/temporaryFolder.ts';

let home: string;

beforeEach(async () => (home = await temporaryFolder()));

describe('the master key', () => {
  it('is created once, readable only by its owner, and read again', async () => {
    const [key, same] = await Promise.all([loadMasterKey(home, {}), loadMasterKey(home, {})]);
    expect(key).toHaveLength(32);
    expect(same).toEqual(key);
    expect(await loadMasterKey(home, {})).toEqual(key);
    expect((await stat(join(home, 'master.key'))).mode & 0o777).toBe(0o600);
  });

  it('comes from the environment if it is set there', async () => {
    const hex = 'ab'.repeat(32);
    expect(await loadMasterKey(home, { SLIPWAY_MASTER_KEY: hex })).toEqual(Buffer.from(hex, 'hex'));
    const base64 = Buffer.alloc(32, 3).toString('base64');
    expect(await loadMasterKey(home, { SLIPWAY_MASTER_KEY: base64 })).toEqual(Buffer.alloc(32, 3));
    await expect(stat(join(home, 'master.key'))).rejects.toThrow('ENOENT');
  });

  it('that is invalid is rejected without being shown', async () => {
    const refused = loadMasterKey(home, { SLIPWAY_MASTER_KEY: 'too-short' });
    await expect(refused).rejects.toMatchObject({ code: 'SLIPWAY_MASTER_KEY_INVALID' });
    await expect(refused).rejects.not.toThrow('too-short');
    await writeFile(join(home, 'master.key'), 'abc\n');
    await expect(loadMasterKey(home, {})).rejects.toMatchObject({ place: join(home, 'master.key') });
  });

  it('seals no secret itself: a key derived from it does', () => {
    const master = Buffer.alloc(32, 1);
    expect(secretsKeyOf(master)).toEqual(secretsKeyOf(master));
    expect(secretsKeyOf(master)).not.toEqual(master);
  });
});

describe('the API key', () => {
  it('is the given one, else created once, readable only by its owner', async () => {
    expect(await loadApiKey(home, 'given')).toBe('given');
    const created = await loadApiKey(home);
    expect(created).toMatch(/^slipway_[\w-]{43}$/);
    expect(await loadApiKey(home, '')).toBe(created);
    expect((await stat(join(home, 'api.key'))).mode & 0o777).toBe(0o600);
  });
});
