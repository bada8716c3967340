import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { S3 } from '@aws-sdk/client-s3';

import { readS3Url, type S3Place } from '../../src/domain/artifact/storeUrl.ts';
import { useAwsEnvironment } from '../support/s3/awsEnvironment.ts';
import { S3_CREDENTIALS, startS3Server } from '../support/s3/s3Server.ts';

/** A kind of artifact store, and how a test changes its content directly. */
export interface StoreKind {
  /** The address of a new, empty store, as `openArtifactStore` accepts it. */
  fresh(): Promise<string>;
  /** The stored paths, relative to the store. */
  stored(store: string): Promise<string[]>;
  overwrite(store: string, path: string, bytes: Buffer | string): Promise<void>;
  /** Changes the time at which an object was stored; absent if the server does not allow it. */
  readonly age?: (store: string, path: string, putAt: Date) => Promise<void>;
  close(): Promise<void>;
}

/**
 * The kinds of store, which must behave alike. `SLIPWAY_TEST_S3` adds a bucket of another server
 * (`s3://bucket?endpoint=…`), with its credentials in the environment.
 */
export const STORE_KINDS: readonly (readonly [name: string, open: () => Promise<StoreKind>])[] = [
  ['a folder', folders],
  ['S3', ownServer],
  ...(process.env['SLIPWAY_TEST_S3'] === undefined ? [] : [['another S3 server', otherServer] as const]),
];

async function folders(): Promise<StoreKind> {
  const root = await mkdtemp(join(tmpdir(), 'slipway-stores-'));
  let made = 0;
  return {
    fresh: () => Promise.resolve(join(root, `store-${(made += 1)}`)),
    stored: async (store) => {
      const found = await readdir(store, { recursive: true, withFileTypes: true }).catch(() => []);
      const files = found.filter((entry) => entry.isFile());
      return files.map((entry) => join(entry.parentPath, entry.name).slice(store.length + 1)).sort();
    },
    overwrite: async (store, path, bytes) => {
      await mkdir(dirname(join(store, path)), { recursive: true });
      await writeFile(join(store, path), bytes);
    },
    age: (store, path, putAt) => utimes(join(store, path), putAt, putAt),
    close: () => rm(root, { recursive: true, force: true }),
  };
}

async function ownServer(): Promise<StoreKind> {
  const server = await startS3Server();
  const putBack = useAwsEnvironment(S3_CREDENTIALS);
  const kind = onServer((prefix) => server.storeUrl(prefix));
  return {
    ...kind,
    age: (store, path, putAt) => {
      const { prefix } = readS3Url(store) as S3Place;
      return server.age(`${prefix}${path}`, putAt);
    },
    close: async () => {
      await kind.close();
      putBack();
      await server.close();
    },
  };
}

function otherServer(): Promise<StoreKind> {
  const [bucket = '', query = ''] = (process.env['SLIPWAY_TEST_S3'] ?? '').split('?');
  const run = `slipway-test-${Date.now()}`;
  return Promise.resolve(onServer((prefix) => `${bucket}/${run}/${prefix}?${query}`));
}

function onServer(storeUrl: (prefix: string) => string): StoreKind {
  let made = 0;
  const clients: S3[] = [];
  const reach = (store: string): { s3: S3; place: S3Place } => {
    const place = readS3Url(store) as S3Place;
    const s3 = new S3({ endpoint: place.endpoint!, region: place.region!, forcePathStyle: true });
    clients.push(s3);
    return { s3, place };
  };
  return {
    fresh: () => Promise.resolve(storeUrl(`a team/store-${(made += 1)}`)),
    stored: async (store) => {
      const { s3, place } = reach(store);
      const { Contents = [] } = await s3.listObjectsV2({ Bucket: place.bucket, Prefix: place.prefix });
      return Contents.map(({ Key = '' }) => Key.slice(place.prefix.length)).sort();
    },
    overwrite: async (store, path, bytes) => {
      const { s3, place } = reach(store);
      await s3.putObject({ Bucket: place.bucket, Key: `${place.prefix}${path}`, Body: bytes });
    },
    close: () => {
      for (const s3 of clients) s3.destroy();
      return Promise.resolve();
    },
  };
}
