import { mkdtemp, rm, utimes } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';

import S3rver from '@20minutes/s3rver';

import { answerOnUploads } from './unfinishedUploads.ts';

/** An S3 server on loopback. */
export interface S3Server {
  /** The store that is kept in its bucket, below a prefix. */
  storeUrl(prefix: string): string;
  readonly endpoint: string;
  readonly bucket: string;
  /** Where it keeps its files. */
  readonly directory: string;
  /** What was asked so far: method, path and query. */
  readonly requests: string[];
  /** Gets each request before the server; returns `true` if it has answered. */
  fault: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Makes an object look as if it was put then. */
  age(key: string, putAt: Date): Promise<void>;
  close(): Promise<void>;
}

/** What the server knows its one user by. */
export const S3_CREDENTIALS = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' } as const;

/** Starts an S3 server with one bucket, on a port of its own. */
export async function startS3Server(): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-s3-'));
  const bucket = 'releases';
  const s3 = new S3rver({
    directory,
    silent: true,
    vhostBuckets: false,
    // It reckons without the `/` after a bucket, and would refuse every listing.
    allowMismatchedSignatures: true,
    configureBuckets: [{ name: bucket }],
  });
  await s3.configureBuckets();
  const listener = s3.callback();
  // It puts parts together in place, which S3 does at once: no reader may look meanwhile.
  let completing: Promise<unknown> = Promise.resolve();
  const carryOut = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (await answerOnUploads(directory, request, response)) return;
    listener(request, response);
    await finished(response, { readable: false }).catch(() => undefined);
    // It leaves an object that is copied onto itself its time, where S3 gives it a new one.
    if ('x-amz-copy-source' in request.headers) await running.age(keyIn(request), new Date());
  };
  const http = createServer((request, response) => {
    running.requests.push(`${request.method ?? ''} ${request.url ?? ''}`);
    if (running.fault(request, response)) return;
    const { method = '' } = request;
    const turn = ['GET', 'HEAD', 'POST'].includes(method) ? completing : Promise.resolve();
    const carriedOut = turn
      .then(() => carryOut(request, response))
      // An upload that ended while it was looked at: as S3 does, it is to be asked again.
      .catch(() => response.writeHead(500).end('<Error><Code>InternalError</Code></Error>'));
    if (method === 'POST') completing = carriedOut;
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const running: S3Server = {
    endpoint,
    bucket,
    directory,
    storeUrl: (prefix) => `s3://${bucket}/${prefix}?endpoint=${encodeURIComponent(endpoint)}`,
    requests: [],
    age: (key, putAt) => utimes(join(directory, bucket, `${key}._S3rver_object`), putAt, putAt),
    fault: () => false,
    close: async () => {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
      s3.logger.exceptions.unhandle();
      s3.logger.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
  return running;
}

/** The key that a request is about. */
function keyIn({ url = '' }: IncomingMessage): string {
  const [, , ...key] = new URL(url, 'http://localhost').pathname.split('/').map(decodeURIComponent);
  return key.join('/');
}
