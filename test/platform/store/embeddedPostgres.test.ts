import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../../src/platform/store/embeddedPostgres.ts';

let home: string;
let database: EmbeddedPostgres;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'slipway-embedded-'));
  database = await openEmbeddedPostgres(home);
});

afterAll(async () => {
  await database.close();
  await rm(home, { recursive: true, force: true });
});

describe('the embedded database', () => {
  it('belongs to one process at a time', async () => {
    await expect(openEmbeddedPostgres(home)).rejects.toMatchObject({ code: 'SLIPWAY_HOME_IN_USE' });
  });
});
