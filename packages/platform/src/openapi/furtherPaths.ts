import { z } from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';

import { StorableObject, Timestamp, Uuid } from '@slipway/contract/scalars';
import { errorResponses } from './shared.ts';

const StoredObject = z.object({ object_path: z.string(), size: z.int(), sha256: z.string() });

const Health = z.object({ status: z.enum(['ok', 'failing']), database: z.enum(['ok', 'unreachable']) });

/** Feedback as it was recorded, every field that contract 001 names for it. */
const RecordedFeedback = z.looseObject({
  id: Uuid,
  run_id: z.string(),
  key: z.string(),
  score: z.union([z.number(), z.boolean()]).nullish(),
  value: z.unknown().optional(),
  comment: z.string().nullish(),
  correction: z.unknown().optional(),
  metadata: StorableObject.nullish(),
  created_at: Timestamp,
});

/** What the platform serves beside the contracts' endpoints. */
export const FURTHER_PATHS: ZodOpenApiPathsObject = {
  '/uploads/{token}': {
    put: {
      operationId: 'putUpload',
      summary: 'Upload a source tarball',
      description:
        'At the upload_url that an upload-url endpoint answered: the token in it is the permission.',
      tags: ['uploads'],
      security: [],
      requestParams: { path: z.object({ token: z.string() }) },
      requestBody: {
        required: true,
        content: { 'application/gzip': { schema: { type: 'string', format: 'binary' } } },
      },
      responses: {
        '200': { description: 'Stored', content: { 'application/json': { schema: StoredObject } } },
        ...errorResponses([400, 403, 404, 409, 411, 413]),
      },
    },
  },
  '/v1/integrations/github/{integration_id}/webhook': {
    post: {
      operationId: 'receivePush',
      summary: 'Tell of a push',
      description:
        "In GitHub's format. The signature over the body by the integration's webhook secret, in X-Hub-Signature-256, is " +
        'the permission.',
      tags: ['integrations'],
      security: [],
      requestParams: { path: z.object({ integration_id: Uuid }) },
      requestBody: { required: true, content: { 'application/json': { schema: z.looseObject({}) } } },
      responses: {
        '200': { description: 'Heard', content: { 'application/json': { schema: z.looseObject({}) } } },
        '202': { description: 'Taken', content: { 'application/json': { schema: z.looseObject({}) } } },
        ...errorResponses([400, 401, 404, 413, 422]),
      },
    },
  },
  '/api/v1/runs/{run_id}/feedback': {
    get: {
      operationId: 'getFeedback',
      summary: 'Read feedback back',
      description: 'What was recorded for a run through its feedback links.',
      tags: ['feedback'],
      requestParams: { path: z.object({ run_id: Uuid }) },
      responses: {
        '200': {
          description: 'Done',
          content: { 'application/json': { schema: z.array(RecordedFeedback) } },
        },
        ...errorResponses([401, 403, 422]),
      },
    },
  },
  '/health': {
    get: {
      operationId: 'getHealth',
      summary: 'Whether the platform can do its work',
      tags: ['platform'],
      security: [],
      responses: {
        '200': { description: 'It can', content: { 'application/json': { schema: Health } } },
        '503': { description: 'It cannot', content: { 'application/json': { schema: Health } } },
      },
    },
  },
};
