import { z } from 'zod';

/**
 * What `POST /deployments/{deployment_id}/upload-url` answers (contract 000: "yields an object path usable as
 * `source_tarball_path`"; the rest as in the public relative). `upload_url` takes one PUT of the tarball with
 * `content-type: application/gzip` and the `upload_headers`; it is signed, so it counts as a secret.
 */
export const UploadUrl = z.looseObject({
  upload_url: z.url({ protocol: /^https?$/u }),
  object_path: z.string().min(1),
  upload_headers: z.record(z.string(), z.string()).nullish(),
});
export type UploadUrl = z.infer<typeof UploadUrl>;
