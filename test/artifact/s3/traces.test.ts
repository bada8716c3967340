import { afterAll, beforeAll, expect, it } from 'vitest';

import { openArtifactStore } from '../../../src/artifact/openArtifactStore.ts';
import { inSpan, startTraces } from '../../../src/traces/trace.ts';
import { OtlpReceiver } from '../../e2e/otlpReceiver.ts';
import { useAwsEnvironment } from '../../support/s3/awsEnvironment.ts';
import { S3_CREDENTIALS, type S3Server, startS3Server } from '../../support/s3/s3Server.ts';

let server: S3Server;
let receiver: OtlpReceiver;
let putBack: () => void;
let endTraces: () => Promise<void>;

beforeAll(async () => {
  server = await startS3Server();
  receiver = await OtlpReceiver.start();
  putBack = useAwsEnvironment(S3_CREDENTIALS);
  Object.assign(process.env, receiver.env);
  endTraces = await startTraces(process.env, 'test');
});
afterAll(async () => {
  for (const name of Object.keys(receiver.env)) Reflect.deleteProperty(process.env, name);
  putBack();
  await server.close();
  await receiver.close();
});

it('each call to S3 is a span within its caller’s, without credentials', async () => {
  const store = openArtifactStore(server.storeUrl('traced'));
  await inSpan({ name: 'above' }, async () => {
    await store.putRecord('staging/one', { it: 'was' });
    expect(await store.getRecord('staging/none')).toBeUndefined();
  });
  await endTraces();
  const above = receiver.spans.find(({ name }) => name === 'above');
  const [put] = receiver.spans.filter(({ name }) => name === 'S3 PutObject');
  expect(put).toMatchObject({ traceId: above?.traceId, parentSpanId: above?.spanId, isError: false });
  expect(put?.attributes).toMatchObject({
    'rpc.method': 'PutObject',
    'http.response.status_code': 200,
    'aws.s3.key': expect.stringContaining('staging/one') as string,
  });
  // A missing object is an answer, not a failure.
  const [get] = receiver.spans.filter(({ name }) => name === 'S3 GetObject');
  expect(get).toMatchObject({ isError: false, attributes: { 'http.response.status_code': 404 } });
  for (const secret of Object.values(S3_CREDENTIALS)) expect(receiver.raw.includes(secret)).toBe(false);
});
