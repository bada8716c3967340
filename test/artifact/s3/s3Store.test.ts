import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { inspect } from 'node:util';

import { S3 } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { artifactPath, type ArtifactStore } from '../../../src/artifact/artifactStore.ts';
import { openArtifactStore } from '../../../src/artifact/openArtifactStore.ts';
import { PART_BYTES } from '../../../src/artifact/s3/upload.ts';
import { useAwsEnvironment } from '../../support/s3/awsEnvironment.ts';
import { S3_CREDENTIALS, type S3Server, startS3Server } from '../../support/s3/s3Server.ts';
import { useFolder } from '../../support/temporaryFolder.ts';

/** Three parts; the last one is smaller. */
const CONTENT = randomBytes(2 * PART_BYTES + 1_000_000);
const DIGEST = `sha256:${createHash('sha256').update(CONTENT).digest('hex')}`;
const XML = 'application/xml';

let server: S3Server;
let putBack: () => void;
const folder = useFolder();
const file = join(folder, 'large.tar.gz');
let store: ArtifactStore;
let stores = 0;

beforeAll(async () => {
  server = await startS3Server();
  putBack = useAwsEnvironment(S3_CREDENTIALS);
  await writeFile(file, CONTENT);
});
beforeEach(() => {
  store = openArtifactStore(server.storeUrl(`store-${(stores += 1)}`));
});
afterEach(() => {
  server.fault = () => false;
  server.requests.length = 0;
});
afterAll(async () => {
  putBack();
  await server.close();
});

describe('a large artifact', () => {
  it('is sent in parts, and returned as it was', async () => {
    await store.put(file, DIGEST);
    expect(partsSent()).toEqual([1, 2, 3]);
    expect((await buffer((await store.open(DIGEST)).stream)).equals(CONTENT)).toBe(true);
    expect(await unfinishedUploads()).toEqual([]);
  });

  it('that exists is not sent again', async () => {
    await store.put(file, DIGEST);
    server.requests.length = 0;
    await store.put(file, DIGEST);
    expect(server.requests.map((request) => request.split(' ')[0])).toEqual(['HEAD']);
  });

  it('that is old gets a new time by a copy within S3, and is not sent again', async () => {
    await store.put(file, DIGEST);
    await server.age(`store-${stores}/${artifactPath(DIGEST)}`, new Date('2026-01-01'));
    server.requests.length = 0;
    await store.put(file, DIGEST);
    expect(server.requests.map((request) => request.split(' ')[0])).toEqual(['HEAD', 'PUT']);
    await store.verify(DIGEST);
  });

  it('can be stored by two at the same time', async () => {
    await Promise.all([store.put(file, DIGEST), openArtifactStore(store.url).put(file, DIGEST)]);
    await store.verify(DIGEST);
    expect(await unfinishedUploads()).toEqual([]);
  });

  it('with an interrupted upload continues with the existing parts', async () => {
    await breakOff();
    await store.put(file, DIGEST);
    expect(partsSent()).toEqual([3]);
    await store.verify(DIGEST);
    expect(await unfinishedUploads()).toEqual([]);
  });

  it('continues after a broken connection', async () => {
    let cuts = 0;
    server.fault = (request) => {
      if (!request.url!.includes('partNumber=2') || cuts > 0) return false;
      cuts += 1;
      request.once('data', () => request.destroy());
      return true;
    };
    await store.put(file, DIGEST);
    expect(partsSent()).toEqual([1, 2, 2, 3]);
    await store.verify(DIGEST);
  });

  it('resends a part that arrived damaged', async () => {
    const upload = await breakOff();
    await writeFile(join(upload, '1.md5'), createHash('md5').update('something else').digest('hex'));
    await store.put(file, DIGEST);
    expect(partsSent()).toEqual([1, 3]);
    await store.verify(DIGEST);
  });

  it('that is damaged in the store is reported, and repaired by storing it again', async () => {
    const upload = await breakOff();
    await writeFile(join(upload, '2'), randomBytes(PART_BYTES));
    const damaged = {
      code: 'SLIPWAY_ARTIFACT_CORRUPT',
      place: expect.stringContaining(artifactPath(DIGEST)),
    };
    await expect(store.put(file, DIGEST)).rejects.toMatchObject(damaged);
    await expect(store.verify(DIGEST)).rejects.toMatchObject(damaged);
    await store.put(file, DIGEST);
    await store.verify(DIGEST);
  });

  it('removes an abandoned upload of another process', async () => {
    const s3 = client();
    const Key = `store-${stores}/${artifactPath(DIGEST)}`;
    await s3.createMultipartUpload({ Bucket: server.bucket, Key });
    await s3.createMultipartUpload({ Bucket: server.bucket, Key });
    await store.put(file, DIGEST);
    expect(await unfinishedUploads()).toEqual([]);
  });

  it('does not count as complete if the connection breaks during a read', async () => {
    await store.put(file, DIGEST);
    server.fault = (request, response) => {
      if (request.method !== 'GET') return false;
      response.writeHead(200, { 'content-length': CONTENT.length });
      response.write(CONTENT.subarray(0, PART_BYTES), () => response.destroy());
      return true;
    };
    await expect(store.verify(DIGEST)).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE' });
  });

  /** Uploads it over a connection that breaks in its last part, after the others have been stored. */
  async function breakOff(): Promise<string> {
    const arrived = new Set<string>();
    const waiting: (() => void)[] = [];
    server.fault = (request, response) => {
      const number = /partNumber=(\d)/.exec(request.url!)?.[1];
      if (number === '3') {
        const cut = (): void => void request.destroy();
        if (arrived.size === 2) cut();
        else waiting.push(cut);
        return true;
      }
      response.once('finish', () => {
        if (number !== undefined) arrived.add(number);
        if (arrived.size === 2) for (const cut of waiting.splice(0)) cut();
      });
      return false;
    };
    await expect(store.put(file, DIGEST)).rejects.toMatchObject({
      code: 'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE',
    });
    expect(await store.has(DIGEST)).toBe(false);
    server.fault = () => false;
    server.requests.length = 0;
    const [upload = ''] = await unfinishedUploads();
    return join(server.directory, server.bucket, '._S3rver_uploads', upload);
  }
});

describe('a store in S3', () => {
  it('lists more than one response contains', async () => {
    const pages = ['<NextContinuationToken>more</NextContinuationToken>', ''];
    server.fault = (request, response) => {
      const page = request.url!.includes('continuation-token=more') ? 1 : 0;
      const key = `store-${stores}/records/staging/${page}.json`;
      response.end(
        `<ListBucketResult>${pages[page]}<Contents><Key>${key}</Key></Contents></ListBucketResult>`,
      );
      return true;
    };
    expect(await store.listRecords()).toEqual(['staging/0.json', 'staging/1.json']);
  });

  it('with a missing bucket reports it, and does not retry', async () => {
    const gone = openArtifactStore(server.storeUrl('x').replace(server.bucket, 'nobodys'));
    const refused = {
      code: 'SLIPWAY_ARTIFACT_STORE_REFUSED',
      message: 'the bucket "nobodys" does not exist',
      place: gone.url,
    };
    await expect(gone.put(file, DIGEST)).rejects.toMatchObject(refused);
    await expect(gone.open(DIGEST)).rejects.toMatchObject(refused);
    await expect(gone.putRecord('staging/1.json', {})).rejects.toMatchObject(refused);
    await expect(gone.listRecords()).rejects.toMatchObject(refused);
  });

  it.each([
    [
      'that refuses the credentials',
      ...[403, XML, '<Error><Code>AccessDenied</Code><Message>User: ada is not authorized</Message></Error>'],
      ...['SLIPWAY_ARTIFACT_STORE_REFUSED', 'User: ada is not authorized', 'docs/artifact-store.md'],
    ],
    [
      'that refuses a request without a body in its answer',
      ...[403, XML, ''],
      ...['SLIPWAY_ARTIFACT_STORE_REFUSED', 'rejected the credentials: HTTP 403', 'credentials'],
    ],
    [
      'that asks for fewer requests',
      ...[
        503,
        XML,
        '<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>',
      ],
      'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE',
      'could not be read or written: SlowDown: Please reduce your request rate. (HTTP 503)',
      'The service answers, but cannot serve requests now: try again later.',
    ],
    [
      'that answers with something else than S3’s protocol',
      ...[404, 'text/html', '<html>nothing here</html>'],
      ...['SLIPWAY_ARTIFACT_STORE_REFUSED', 'rejected a request', 'a service that speaks S3’s protocol'],
    ],
  ] as const)(
    '%s reports it, and shows no credentials',
    async (_, status, type, body, code, message, hint) => {
      server.fault = (request, response) => {
        request.resume();
        response.writeHead(status, { 'content-type': type }).end(body);
        return true;
      };
      const error: unknown = await store.listRecords().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code,
        message: expect.stringContaining(message),
        hint: expect.stringContaining(hint),
      });
      expect(inspect(error, { depth: 10 })).not.toContain('Signature');
    },
  );

  it('without any credentials says where it looks for them', async () => {
    const putBackThese = useAwsEnvironment({
      AWS_ACCESS_KEY_ID: undefined,
      AWS_SECRET_ACCESS_KEY: undefined,
      AWS_PROFILE: undefined,
    });
    try {
      const other = openArtifactStore(`${server.storeUrl('x')}&region=nowhere-1`);
      await expect(other.has(DIGEST)).rejects.toMatchObject({
        code: 'SLIPWAY_ARTIFACT_STORE_REFUSED',
        hint: expect.stringContaining('AWS_PROFILE'),
      });
    } finally {
      putBackThese();
    }
  });

  it('that cannot be reached may be retried', async () => {
    const nowhere = openArtifactStore('s3://releases?endpoint=http%3A%2F%2F127.0.0.1%3A1');
    await expect(nowhere.has(DIGEST)).rejects.toMatchObject({
      code: 'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });
});

function client(): S3 {
  return new S3({ endpoint: server.endpoint, region: 'us-east-1', forcePathStyle: true });
}

/** The numbers of the uploaded parts, in order. */
function partsSent(): number[] {
  return server.requests
    .flatMap((request) => /^PUT .*partNumber=(\d)/.exec(request)?.[1] ?? [])
    .map(Number)
    .sort();
}

/** The ids of unfinished uploads in this test's store. */
async function unfinishedUploads(): Promise<string[]> {
  const uploads = join(server.directory, server.bucket, '._S3rver_uploads');
  const ids = await readdir(uploads).catch(() => []);
  const keys = await Promise.all(ids.map((id) => readFile(join(uploads, id, 'key'), 'utf8')));
  return ids.filter((_, index) => keys[index]!.startsWith(`store-${stores}/`));
}
