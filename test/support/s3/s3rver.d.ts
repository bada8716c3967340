/** Types for the parts of the package that the tests use; it has none. */
declare module '@20minutes/s3rver' {
  import type { RequestListener } from 'node:http';

  // eslint-disable-next-line import-x/no-default-export -- the package's own.
  export default class S3rver {
    constructor(options: {
      readonly directory: string;
      readonly silent: boolean;
      readonly vhostBuckets: boolean;
      readonly allowMismatchedSignatures: boolean;
      readonly configureBuckets: readonly { readonly name: string }[];
    });
    readonly logger: { close(): void; readonly exceptions: { unhandle(): void } };
    configureBuckets(): Promise<unknown>;
    callback(): RequestListener;
  }
}
