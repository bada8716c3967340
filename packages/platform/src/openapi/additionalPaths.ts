import { ErrorDetail, HttpValidationError } from '@slipway/contract/httpErrors';
import { Uuid } from '@slipway/contract/scalars';
import { z } from 'zod';
import type { oas31, ZodOpenApiPathsObject, ZodOpenApiResponsesObject } from 'zod-openapi';

const StoredObject = z.object({ object_path: z.string(), size: z.int(), sha256: z.string() });

const Health = z.object({ status: z.enum(['ok', 'failing']), database: z.enum(['ok', 'unreachable']) });

/** The three alternatives in contract 000, "Authentication". */
export const SECURITY_SCHEMES = {
  'API Key': {
    type: 'apiKey',
    in: 'header',
    name: 'X-Api-Key',
    description: 'The platform prints it when it starts; `slipway platform keys` creates more keys.',
  },
  'Tenant ID': {
    type: 'apiKey',
    in: 'header',
    name: 'X-Tenant-Id',
    description:
      'The tenant, for a key with several tenants. It is sent beside a key, and authenticates nothing.',
  },
  'Bearer Auth': { type: 'http', scheme: 'bearer', description: 'An API key as a bearer token.' },
} as const satisfies Record<string, oas31.SecuritySchemeObject>;

/** A key in either form, with or without a tenant. */
export const SECURITY: oas31.SecurityRequirementObject[] = [
  { 'API Key': [] },
  { 'Bearer Auth': [] },
  { 'API Key': [], 'Tenant ID': [] },
  { 'Bearer Auth': [], 'Tenant ID': [] },
];

const MEANINGS: Readonly<Record<number, string>> = {
  400: 'The request does not apply to the current state',
  401: 'No API key was sent',
  403: 'The API key is not valid, or may not do this',
  404: 'There is no such thing, or it is another tenant’s',
  409: 'It conflicts with an existing resource',
  410: 'It has expired',
  413: 'The body is too large',
  422: 'The request fails validation',
  429: 'Too many requests; Retry-After says when to retry',
  500: 'The platform failed unexpectedly; see its log',
  503: 'The platform cannot answer right now',
  507: 'The disk of the platform is full',
};

/** The error answers of an operation, including those that any operation may give (contract 000, "Errors"). */
export function errorResponses(statuses: readonly number[]): ZodOpenApiResponsesObject {
  const all = [...new Set([...statuses, 429, 500, 503, 507])].sort((a, b) => a - b);
  return Object.fromEntries(all.map((status) => [String(status), errorResponse(status)]));
}

function errorResponse(status: number): ZodOpenApiResponsesObject[`200`] {
  const description = MEANINGS[status] ?? 'It failed';
  // Without an example, the page shows the schema as if every field were a text.
  const json =
    status === 422
      ? { schema: HttpValidationError, example: { detail: [MISSING_NAME] } }
      : { schema: ErrorDetail, example: { detail: `${description}.` } };
  return {
    description,
    headers: status === 429 ? RETRY_AFTER : undefined,
    content: { 'application/json': json },
  };
}

const MISSING_NAME = { loc: ['body', 'name'], msg: 'Field required', type: 'missing' };

const RETRY_AFTER = {
  'Retry-After': { description: 'Seconds until the next request is worthwhile', schema: { type: 'integer' } },
} as const;

const json = (schema: z.ZodType) => ({ content: { 'application/json': { schema } } });
const anyObject = json(z.looseObject({}));

/** The platform's paths besides the contracts' endpoints. */
export const ADDITIONAL_PATHS: ZodOpenApiPathsObject = {
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
        '200': { description: 'Stored', ...json(StoredObject) },
        ...errorResponses([400, 403, 404, 409, 411, 413]),
      },
    },
  },
  '/v1/integrations/github/{integration_id}/webhook': {
    post: {
      operationId: 'receivePush',
      summary: 'Report a push',
      description:
        "In GitHub's format. The signature over the body by the integration's webhook secret, in X-Hub-Signature-256, is " +
        'the permission.',
      tags: ['integrations'],
      security: [],
      requestParams: { path: z.object({ integration_id: Uuid }) },
      requestBody: { required: true, ...anyObject },
      responses: {
        '200': { description: 'Received', ...anyObject },
        '202': { description: 'Accepted', ...anyObject },
        ...errorResponses([400, 401, 404, 413, 422]),
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
        '200': { description: 'It can', ...json(Health) },
        '503': { description: 'It cannot', ...json(Health) },
      },
    },
  },
};
