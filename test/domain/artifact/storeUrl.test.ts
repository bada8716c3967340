import { describe, expect, it } from 'vitest';

import {
  readS3Url,
  s3Url,
  type S3Place,
  storeScheme,
  storeUrlProblem,
} from '../../../src/domain/artifact/storeUrl.ts';

describe('an artifact store', () => {
  it.each([
    ['./artifacts', undefined],
    ['C:\\artifacts', undefined],
    ['file:///srv/artifacts', 'file'],
    ['S3://bucket', 's3'],
  ])('%s has the scheme %s', (store, scheme) => {
    expect(storeScheme(store)).toBe(scheme);
    expect(storeUrlProblem(store)).toBeUndefined();
  });

  it.each([
    ['gs://bucket', 'there is no artifact store for "gs:" URLs'],
    ['s3:bucket', 'expected s3://BUCKET/PREFIX'],
    ['s3:///prefix', 'expected s3://BUCKET/PREFIX'],
    ['s3://bucket:9000', 'expected s3://BUCKET/PREFIX'],
    ['s3://KEY:SECRET@bucket', 'must not carry credentials'],
    ['s3://bucket?secretAccessKey=SECRET', 'expected endpoint, region, pathStyle after the "?"'],
    ['s3://bucket?endpoint=minio:9000', 'endpoint: expected an http or https URL'],
    ['s3://bucket?endpoint=https://KEY:SECRET@minio', 'endpoint: must not carry credentials'],
    ['s3://bucket?pathStyle=yes', 'pathStyle: expected true or false'],
  ])('reports the problem of %s, without a secret', (store, problem) => {
    expect(storeUrlProblem(store)).toContain(problem);
    expect(storeUrlProblem(store)).not.toMatch(/SECRET|KEY:/);
  });
});

describe('a place in S3', () => {
  it('is what the SDK’s own settings say, except bucket and prefix', () => {
    expect(readS3Url('s3://bucket/a/b/')).toEqual({ bucket: 'bucket', prefix: 'a/b/' });
    expect(readS3Url('s3://bucket')).toEqual({ bucket: 'bucket', prefix: '' });
  });

  it('of another service has its bucket in the path, and a region', () => {
    const endpoint = 'http://minio:9000';
    const url = `s3://bucket?endpoint=${encodeURIComponent(endpoint)}`;
    expect(readS3Url(url)).toEqual({
      bucket: 'bucket',
      prefix: '',
      endpoint,
      region: 'us-east-1',
      pathStyle: true,
    });
    expect(readS3Url(`${url}&pathStyle=false&region=here`)).toMatchObject({
      pathStyle: false,
      region: 'here',
    });
  });

  it.each(['s3://bucket', 's3://b/a%20team/x', 's3://b/x?endpoint=https://s3.example.com&region=here'])(
    'is the same by its own URL: %s',
    (url) => {
      const place = readS3Url(url) as S3Place;
      expect(readS3Url(s3Url(place))).toEqual(place);
      expect(s3Url(readS3Url(s3Url(place)) as S3Place)).toBe(s3Url(place));
    },
  );
});
