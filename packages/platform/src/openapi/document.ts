import * as deployments from '@slipway/contract/controlPlane/deployment';
import { CONTROL_PLANE_ENDPOINTS } from '@slipway/contract/controlPlane/endpoints';
import * as listeners from '@slipway/contract/controlPlane/listener';
import * as logs from '@slipway/contract/controlPlane/logs';
import * as resources from '@slipway/contract/controlPlane/resourceSpec';
import * as revisions from '@slipway/contract/controlPlane/revision';
import * as sources from '@slipway/contract/controlPlane/source';
import * as uploads from '@slipway/contract/controlPlane/uploadUrl';
import type { Endpoint } from '@slipway/contract/endpoint';
import * as errorsOfHttp from '@slipway/contract/httpErrors';
import { RUN_API_ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import { TRACING_ENDPOINTS } from '@slipway/contract/runApi/feedback';
import * as runs from '@slipway/contract/runApi/run';
import * as threads from '@slipway/contract/runApi/thread';
import { z } from 'zod';
import {
  createDocument,
  type oas31,
  type ZodOpenApiOperationObject,
  type ZodOpenApiOverride,
  type ZodOpenApiPathsObject,
} from 'zod-openapi';

import { errorResponses, ADDITIONAL_PATHS, SECURITY, SECURITY_SCHEMES } from './additionalPaths.ts';

/**
 * The OpenAPI 3.1 document of the control plane, with feedback, uploads and health: everything that one listener of
 * the platform serves, except the agents. Made from the schemas that validate requests and parse answers.
 */
export function controlPlaneDocument(): oas31.OpenAPIObject {
  const tracing = Object.entries(RUN_API_ENDPOINTS).filter(([, { service }]) => service === 'tracing');
  return documentOf({
    title: 'Slipway control plane',
    description:
      'Deployments, their revisions, uploads and logs, and feedback on runs. The names are those of the contract; ' +
      'the public service’s names are accepted and returned as well, if the platform accepts both (its default).',
    endpoints: { ...CONTROL_PLANE_ENDPOINTS, ...Object.fromEntries(tracing), ...TRACING_ENDPOINTS },
    additionalPaths: ADDITIONAL_PATHS,
    servers: [{ url: '/', description: 'this platform' }],
  });
}

/** The OpenAPI 3.1 document of an agent's Run API, which has its own base URL per deployment. */
export function runApiDocument(): oas31.OpenAPIObject {
  const own = Object.entries(RUN_API_ENDPOINTS).filter(([, { service }]) => service === 'runApi');
  return documentOf({
    title: 'Slipway Run API',
    description:
      'Assistants, threads, their state, and runs of one deployed agent, with streaming and cancellation.',
    endpoints: Object.fromEntries(own),
    additionalPaths: {},
    servers: [
      {
        url: '/agents/{deployment_id}',
        description: 'the agent of a deployment of this platform',
        variables: {
          deployment_id: {
            default: '00000000-0000-4000-8000-000000000000',
            description: "the deployment's id; its custom_url is the whole address",
          },
        },
      },
    ],
  });
}

function documentOf(service: {
  title: string;
  description: string;
  endpoints: Readonly<Record<string, Endpoint>>;
  additionalPaths: ZodOpenApiPathsObject;
  servers: oas31.ServerObject[];
}): oas31.OpenAPIObject {
  const paths: ZodOpenApiPathsObject = {};
  for (const [name, endpoint] of Object.entries(service.endpoints)) {
    const item = (paths[endpoint.path] ??= {});
    item[endpoint.method.toLowerCase() as 'get'] = operationOf(name, endpoint);
  }
  const document = createDocument(
    {
      openapi: '3.1.1',
      // Contract 000, "Versioning": "The interface description carries version 0.1.0".
      info: { title: service.title, version: '0.1.0', description: service.description },
      servers: service.servers,
      security: SECURITY,
      paths: { ...paths, ...service.additionalPaths },
      components: { schemas: COMPONENT_SCHEMAS, securitySchemes: SECURITY_SCHEMES },
    },
    { override: overrideWithWireSchema, allowEmptySchema: { transform: true, custom: true } },
  );
  return removeUnusedSchemas(document);
}

/** Removes unused schemas, because each service has its own nouns. */
function removeUnusedSchemas(document: oas31.OpenAPIObject): oas31.OpenAPIObject {
  const { schemas = {}, ...components } = document.components ?? {};
  const used = new Set<string>();
  const visit = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/gu)) {
      if (used.has(name)) continue;
      used.add(name);
      visit(schemas[name]);
    }
  };
  visit(document.paths);
  const kept = Object.entries(schemas).filter(([name]) => used.has(name));
  return { ...document, components: { ...components, schemas: Object.fromEntries(kept) } };
}

function operationOf(name: string, endpoint: Endpoint): ZodOpenApiOperationObject {
  const examples = EXAMPLES[name];
  const { params, query, headers, request, service, success, partial, errors } = endpoint;
  const body = request && {
    required: !request.safeParse({}).success,
    content: { 'application/json': { schema: request, example: examples?.request } },
  };
  return {
    operationId: name,
    summary: summaryOf(name),
    description: `From: ${endpoint.section}.`,
    tags: [tagOf(endpoint)],
    // A feedback link is its own credential (contract 001, "Authentication").
    security: service === 'tracing' ? [] : undefined,
    requestParams: {
      ...(params && { path: params }),
      ...(query && { query }),
      ...(headers && { header: headers }),
    },
    requestBody: body,
    responses: {
      [String(success) as `200`]: { description: 'Done', content: contentOf(endpoint, examples?.response) },
      ...(partial && { [String(partial)]: { description: 'Done in part', content: contentOf(endpoint) } }),
      ...errorResponses([
        ...errors,
        ...(request === undefined ? [] : [413]),
        // 422 also if only the tenant's header can be invalid.
        ...(service === 'tracing' ? [] : [401, 403, 422]),
      ]),
    },
  };
}

function contentOf({ response, streams }: Endpoint, example?: unknown): oas31.ResponseObject['content'] {
  const stream = { 'text/event-stream': { schema: { type: 'string' as const } } };
  if (response === null) return undefined;
  if (response === 'stream') return stream;
  const json = { schema: response as never, example };
  return { 'application/json': json, ...(streams === true ? stream : {}) };
}

/** `createUploadUrl` becomes `Create upload url`. */
function summaryOf(name: string): string {
  const words = name.replaceAll(/[A-Z]/gu, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The subject of a path: its first part that is no version and no parameter, or the resource below a deployment. */
function tagOf({ path }: Endpoint): string {
  if (path.startsWith('/api/')) return 'feedback';
  if (path.includes('/revisions')) return 'revisions';
  if (path.includes('upload')) return 'uploads';
  if (path.includes('/runs')) return 'runs';
  return (
    path.split('/').find((part) => part !== '' && !/^v\d$/u.test(part) && !part.startsWith('{')) ?? 'platform'
  );
}

/** Describes answers as they are on the wire, before a client's schema transforms a value. */
const overrideWithWireSchema: ZodOpenApiOverride = ({ zodSchema, jsonSchema, io }) => {
  const { def } = zodSchema._zod;
  if (io !== 'output' || def.type !== 'pipe' || def.out._zod.def.type !== 'transform') return;
  const { $schema: _, ...schema } = z.toJSONSchema(def.in, { io: 'input' });
  for (const name of Object.keys(jsonSchema)) Reflect.deleteProperty(jsonSchema, name);
  Object.assign(jsonSchema, schema);
};

/** The schemas that the documents refer to by name: the contracts' nouns. */
const COMPONENT_SCHEMAS = Object.fromEntries(
  [deployments, revisions, sources, resources, listeners, uploads, logs, errorsOfHttp, runs, threads]
    .flatMap((nouns) => Object.entries<unknown>(nouns))
    .filter((entry): entry is [string, z.ZodType] => entry[1] instanceof z.ZodType),
);

const DEPLOYMENT_ID = '6f1a2c3d-0b1e-4c5d-8e9f-0a1b2c3d4e5f';
const REVISION_ID = '0d9c8b7a-6f5e-4d3c-8b2a-1f0e9d8c7b6a';
const AT = '2026-11-21T10:00:00.000Z';

const REVISION = {
  id: REVISION_ID,
  created_at: AT,
  updated_at: AT,
  status: 'DEPLOYED',
  status_message: null,
  source: 'internal_source',
  source_revision_config: {
    graph_config_path: 'graph.json',
    source_tarball_path: `tarballs/${DEPLOYMENT_ID}/1.tar.gz`,
  },
};

const DEPLOYMENT = {
  id: DEPLOYMENT_ID,
  tenant_id: '51195ba7-0000-4000-8000-000000000001',
  name: 'greeter',
  source: 'internal_source',
  source_config: { custom_url: `http://127.0.0.1:8123/agents/${DEPLOYMENT_ID}` },
  source_revision_config: { graph_config_path: 'graph.json' },
  secrets: [{ name: 'MODEL_KEY', value: 'a secret value' }],
  secret_references: null,
  created_at: AT,
  updated_at: AT,
  status: 'READY',
  latest_revision_id: REVISION_ID,
  active_revision_id: null,
  image_version: null,
};

/** Examples of the most common operations, by name. A test validates them against the schemas. */
const EXAMPLES: Readonly<Record<string, { request?: unknown; response?: unknown } | undefined>> = {
  createDeployment: {
    request: {
      name: 'greeter',
      source: 'internal_source',
      source_config: {},
      source_revision_config: { graph_config_path: 'graph.json' },
      secrets: [{ name: 'MODEL_KEY', value: 'a secret value' }],
    },
    response: DEPLOYMENT,
  },
  getDeployment: { response: DEPLOYMENT },
  patchDeployment: {
    request: { source_revision_config: { source_tarball_path: `tarballs/${DEPLOYMENT_ID}/1.tar.gz` } },
    response: DEPLOYMENT,
  },
  getRevision: { response: REVISION },
  interruptRevision: {
    response: { ...REVISION, status: 'INTERRUPTED', status_message: 'It was interrupted on request.' },
  },
  redeployRevision: { response: DEPLOYMENT },
  createUploadUrl: {
    response: {
      upload_url: 'http://127.0.0.1:8123/uploads/eyJvIjoxfQ.c2ln',
      object_path: `tarballs/${DEPLOYMENT_ID}/1.tar.gz`,
      upload_headers: { 'content-type': 'application/gzip' },
    },
  },
  getRevisionLogs: {
    response: {
      logs: [{ id: '41', stage: 'build', message: 'added 12 packages', timestamp: AT }],
      next_offset: null,
    },
  },
  createRun: { request: { assistant_id: 'greeter', input: { name: 'Ada' } } },
};
