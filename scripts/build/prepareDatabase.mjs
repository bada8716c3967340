// The data directory template of new embedded databases.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';

import { create } from 'tar';

import { PACKAGES } from './freshness.mjs';

/** `template1` and `template0`: two thirds of the files. Only `create database` needs them, which nothing here runs. */
const TEMPLATES = /^\.\/base\/[14](\/|$)/;

/** Packs it beside the platform's `dataDirectory.js`, once per version of the engine. */
export async function prepareDatabase() {
  const module = pathToFileURL(join(PACKAGES.platform.dist, 'store/dataDirectory.js'));
  const { PREPARED, initialize } = await import(module.href);
  if (existsSync(PREPARED)) return;
  for (const name of readdirSync(dirname(PREPARED)).filter((each) => each.endsWith('.tar.br'))) {
    rmSync(join(dirname(PREPARED), name));
  }
  const folder = mkdtempSync(join(tmpdir(), 'slipway-build-'));
  try {
    const [directory, file] = [join(folder, 'postgres'), join(folder, 'postgres.tar')];
    await initialize(directory);
    await create({ cwd: directory, file, portable: true, filter: (path) => !TEMPLATES.test(path) }, ['.']);
    writeFileSync(PREPARED, compress(readFileSync(file)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Its databases are similar: with a window of 16 MiB, 24 MiB compress to 1.5 MiB. */
function compress(bytes) {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 9,
    [constants.BROTLI_PARAM_LGWIN]: 24,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  return brotliCompressSync(bytes, { params });
}
