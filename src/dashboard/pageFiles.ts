import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

import { Hono } from 'hono';

/** The files that `scripts/build/bundlePage.mjs` makes. */
const NAMES = ['page.css', 'page.js', 'charts.css', 'charts.js'] as const;

type PageFileName = (typeof NAMES)[number];

const FOLDER = fileURLToPath(new URL('../../dist/page/', import.meta.url));
const TYPES = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' };
const A_YEAR = 'public, max-age=31536000, immutable';

export interface PageFiles {
  readonly address: (name: PageFileName) => string;
  /** Changes if any of the files changes. */
  readonly version: string;
  readonly routes: Hono;
}

/** Reads and compresses the page's files. @param folder - their folder. Default: the build's output folder. */
export async function loadPageFiles(folder = FOLDER): Promise<PageFiles> {
  const routes = new Hono();
  const addresses = new Map<PageFileName, string>();
  for (const name of NAMES) {
    const content = await readFile(join(folder, name));
    const digest = createHash('sha256').update(content).digest('base64url').slice(0, 12);
    const [stem = '', ending = 'js'] = name.split('.');
    const address = `/files/${stem}.${digest}.${ending}`;
    addresses.set(name, address);
    const encoded = await encodings(content);
    routes.get(address, (c) => {
      const accepted = c.req.header('accept-encoding') ?? '';
      const encoding = (['br', 'gzip'] as const).find((each) => accepted.includes(each));
      const headers = {
        'Content-Type': TYPES[ending as keyof typeof TYPES],
        'Cache-Control': A_YEAR,
        Vary: 'Accept-Encoding',
        ...(encoding === undefined ? {} : { 'Content-Encoding': encoding }),
      };
      return c.body(encoded[encoding ?? 'identity'], 200, headers);
    });
  }
  const version = [...addresses.values()].join(' ');
  return { version, address: (name) => addresses.get(name) ?? '', routes };
}

async function encodings(content: Buffer) {
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
  return {
    identity: bytesOf(content),
    gzip: bytesOf(await promisify(gzip)(content)),
    br: bytesOf(await promisify(brotliCompress)(content, { params })),
  };
}

function bytesOf(buffer: Buffer): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer);
}
