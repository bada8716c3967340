import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { readPayloadKeys } from '../../src/config/payloadKeys.ts';
import { useFolder } from '../support/temporaryFolder.ts';

const SECRET = randomBytes(32).toString('base64');

describe('the keys of payloads', () => {
  const folder = useFolder();

  it('are none if the variable is not set', async () => {
    expect(await readPayloadKeys({})).toEqual([]);
    expect(await readPayloadKeys({ SLIPWAY_PAYLOAD_KEYS: ' ' })).toEqual([]);
  });

  it('come from the environment, a file and a program that gets the id, in order', async () => {
    const file = join(folder, 'key');
    const program = join(folder, 'kms');
    await writeFile(file, `${SECRET}\n`);
    await writeFile(program, '#!/bin/sh\nprintf "%s" "$1" | head -c 32 | base64\n', { mode: 0o755 });
    const id = 'key-of-exactly-thirty-two-bytes.';
    const keys = await readPayloadKeys({
      PATH: process.env['PATH'],
      MINE: SECRET,
      SLIPWAY_PAYLOAD_KEYS: `a=env:MINE, b=file:${file},${id}=command:${program}`,
    });
    expect(keys.map((key) => key.id)).toEqual(['a', 'b', id]);
    expect(keys.map(({ key }) => key.export().toString('base64'))).toEqual([
      SECRET,
      SECRET,
      Buffer.from(id).toString('base64'),
    ]);
  });

  it.each([
    [
      'of a wrong length',
      { SLIPWAY_PAYLOAD_KEYS: 'a=env:SHORT', SHORT: 'c2hvcnQ=' },
      '"a" is 5 bytes, not 32',
    ],
    ['that is not base64', { SLIPWAY_PAYLOAD_KEYS: 'a=env:ODD', ODD: '*secret*' }, '"a" is not base64'],
    [
      'written in place of a reference',
      { SLIPWAY_PAYLOAD_KEYS: `a=${SECRET}` },
      'an entry is not ID=env:NAME',
    ],
    ['of a relative program', { SLIPWAY_PAYLOAD_KEYS: 'a=command:kms' }, 'an entry is not ID=env:NAME'],
    ['of an id that another has', { SLIPWAY_PAYLOAD_KEYS: 'a=env:A,a=env:B' }, 'two keys have the same id'],
    ['of a program that is not there', { SLIPWAY_PAYLOAD_KEYS: 'a=command:/no/such' }, '"a" failed: ENOENT'],
  ])('are rejected: one %s, without repeating it', async (_, environment, message) => {
    const refused = await readPayloadKeys(environment).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'SLIPWAY_PAYLOAD_KEYS_INVALID', place: 'SLIPWAY_PAYLOAD_KEYS' });
    expect((refused as Error).message).toContain(message);
    expect(JSON.stringify([refused, (refused as Error).message])).not.toContain(SECRET);
    expect((refused as Error).message).not.toContain('*secret*');
  });

  it('are reported as missing by their reference', async () => {
    await expect(readPayloadKeys({ SLIPWAY_PAYLOAD_KEYS: 'a=env:UNSET' })).rejects.toMatchObject({
      code: 'SLIPWAY_SECRET_MISSING',
      place: 'env:UNSET',
    });
  });
});
