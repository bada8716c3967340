import { z } from 'zod';

import { contract, publicApi } from '../endpoint.ts';
import { ARTIFACT_MAX_BYTES } from '../limits.ts';
import { integer } from '../scalars.ts';

/** The optional body of an upload-url request. With a length, the URL accepts exactly that many bytes (decision). */
const UploadUrlRequest = z.object({ content_length: integer(1, ARTIFACT_MAX_BYTES).nullish() });

/**
 * The answer of `POST /deployments/{deployment_id}/upload-url` (contract 000: "yields an object path usable as
 * `source_tarball_path`"; the rest as in the public API). `upload_url` accepts exactly one PUT of the tarball with
 * `content-type: application/gzip` and the `upload_headers`; it is signed, so it counts as a secret.
 */
export const UploadUrl = z.looseObject({
  upload_url: z.url({ protocol: /^https?$/u }),
  object_path: z.string().min(1),
  upload_headers: z.record(z.string(), z.string()).nullish(),
});
export type UploadUrl = z.infer<typeof UploadUrl>;

/** Upload URLs. The contract writes the path without a version, the public API with one. */
export const UPLOADS_ENDPOINTS = {
  createUploadUrl: contract.post('/deployments/{deployment_id}/upload-url', UploadUrl, {
    request: UploadUrlRequest,
    errors: [400],
  }),
  createUploadUrlVersioned: publicApi.post('/v2/deployments/{deployment_id}/upload-url', UploadUrl, {
    request: UploadUrlRequest,
    errors: [400],
  }),
} as const;
