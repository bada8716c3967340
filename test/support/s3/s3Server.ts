import { mkdtemp, rm, utimes } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';

import S3rver from '@20minutes/s3rver';

import { answerOnUploads } from './unfinishedUploads.ts';
import { closeServer, listen } from '../listen.ts';

export interface S3Server {
  storeUrl(prefix: string): string;
  readonly endpoint: string;
  readonly bucket: string;
  readonly directory: string;
  /** The requests so far: method, path and query. */
  readonly requests: string[];
  /** Called with each request before the server; returns `true` if it has answered. */
  fault: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Sets the time at which an object was put. */
  age(key: string, putAt: Date): Promise<void>;
  close(): Promise<void>;
}

/** The credentials of the server's only user. */
export const S3_CREDENTIALS = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' } as const;

/** Starts an S3 server with one bucket, on a free port. */
export async function startS3Server(): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-s3-'));
  const bucket = 'releases';
  const s3 = new S3rver({
    directory,
    silent: true,
    vhostBuckets: false,
    // It computes signatures without the `/` after a bucket, and would refuse every listing.
    allowMismatchedSignatures: true,
    configureBuckets: [{ name: bucket }],
  });
  await s3.configureBuckets();
  const listener = s3.callback();
  // It assembles parts in place; S3 does that atomically. So requests wait until it is done.
  let completing: Promise<unknown> = Promise.resolve();
  const carryOut = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (await answerOnUploads(directory, request, response)) return;
    listener(request, response);
    await finished(response, { readable: false }).catch(() => undefined);
    // S3 updates the time of an object that is copied onto itself; this server does not.
    if ('x-amz-copy-source' in request.headers) await running.age(keyIn(request), new Date());
  };
  const http = createServer((request, response) => {
    running.requests.push(`${request.method ?? ''} ${request.url ?? ''}`);
    if (running.fault(request, response)) return;
    const { method = '' } = request;
    const turn = ['GET', 'HEAD', 'POST'].includes(method) ? completing : Promise.resolve();
    const carriedOut = turn
      .then(() => carryOut(request, response))
      // The upload ended during this request. Like S3, answer with a retryable error.
      .catch(() => response.writeHead(500).end('<Error><Code>InternalError</Code></Error>'));
    if (method === 'POST') completing = carriedOut;
  });
  const endpoint = await listen(http);
  const running: S3Server = {
    endpoint,
    bucket,
    directory,
    storeUrl: (prefix) => `s3://${bucket}/${prefix}?endpoint=${encodeURIComponent(endpoint)}`,
    requests: [],
    age: (key, putAt) => utimes(join(directory, bucket, `${key}._S3rver_object`), putAt, putAt),
    fault: () => false,
    close: async () => {
      await closeServer(http);
      s3.logger.exceptions.unhandle();
      s3.logger.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
  return running;
}

function keyIn({ url = '' }: IncomingMessage): string {
  const [, , ...key] = new URL(url, 'http://localhost').pathname.split('/').map(decodeURIComponent);
  return key.join('/');
}
