import { describe, expect, it } from 'vitest';
import type { z } from 'zod';

import { CONTROL_PLANE_ENDPOINTS } from '../src/controlPlane/endpoints.ts';
import type { Endpoint } from '../src/endpoint.ts';
import { RUN_API_ENDPOINTS } from '../src/runApi/endpoints.ts';

const ENDPOINTS = { ...CONTROL_PLANE_ENDPOINTS, ...RUN_API_ENDPOINTS };

const ALL: readonly Endpoint[] = Object.values(ENDPOINTS);

/** The tables "Endpoints" of both contracts: method, path, names in the query, names in the body. */
const CONTRACTS: [string, string, string[], string[]][] = [
  ['POST', '/v2/deployments', [], ['name', 'source', 'source_config', 'source_revision_config', 'secrets']],
  ['GET', '/v2/deployments/{deployment_id}', [], []],
  ['PATCH', '/v2/deployments/{deployment_id}', [], ['source_config', 'source_revision_config', 'secrets']],
  ['GET', '/v2/deployments/{deployment_id}/revisions/{revision_id}', [], []],
  ['POST', '/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy', [], []],
  ['GET', '/v1/integrations/github/install', [], []],
  ['GET', '/v2/listeners', [], []],
  ['POST', '/deployments/{deployment_id}/upload-url', [], []],
  ['POST', '/threads', [], []],
  ['GET', '/threads/{thread_id}/state', [], []],
  ['GET', '/threads/{thread_id}/runs', [], []],
  ['POST', '/threads/{thread_id}/runs', [], ['assistant_id', 'input', 'multitask_strategy', 'feedback_keys']],
  ['GET', '/threads/{thread_id}/runs/{run_id}', [], []],
  ['GET', '/threads/{thread_id}/runs/{run_id}/join', ['cancel_on_disconnect'], []],
  ['POST', '/threads/{thread_id}/runs/{run_id}/cancel', ['action', 'wait'], []],
  ['POST', '/runs/cancel', ['action'], ['thread_id', 'run_ids', 'status']],
  ['POST', '/threads/{thread_id}/runs/wait', [], ['assistant_id', 'input', 'on_disconnect']],
  [
    'POST',
    '/threads/{thread_id}/runs/stream',
    ['on_disconnect'],
    ['assistant_id', 'input', 'stream_mode', 'stream_subgraphs', 'feedback_keys', 'on_disconnect'],
  ],
  ['POST', '/runs/stream', [], ['assistant_id', 'input', 'stream_mode', 'stream_subgraphs', 'feedback_keys']],
  ['GET', '/threads/{thread_id}/runs/{run_id}/stream', ['cancel_on_disconnect'], []],
  ['POST', '/api/v1/feedback/tokens/{token_id}', [], ['score', 'value', 'comment', 'correction', 'metadata']],
  ['GET', '/api/v1/feedback/tokens/{token_id}', ['score', 'value', 'comment', 'correction'], []],
];

function shapeOf(schema: z.ZodType | undefined): string[] {
  return schema !== undefined && 'shape' in schema ? Object.keys(schema.shape as object) : [];
}

describe('The table of endpoints', () => {
  it.each(CONTRACTS)('has %s %s of the contracts, with its fields', (method, path, query, body) => {
    const endpoint = ALL.find((each) => each.method === method && each.path === path);
    expect(endpoint?.section).toMatch(/^contract 00[01], Endpoints$/u);
    expect(shapeOf(endpoint?.query)).toEqual(expect.arrayContaining(query));
    expect(shapeOf(endpoint?.request)).toEqual(expect.arrayContaining(body));
    if (body.length === 0)
      expect(shapeOf(endpoint?.request).filter((name) => body.includes(name))).toEqual([]);
  });

  it('has no other endpoints of the contracts', () => {
    const named = ALL.filter(({ section }) => section.startsWith('contract')).map(
      (each) => `${each.method} ${each.path}`,
    );
    expect(named.sort()).toEqual(CONTRACTS.map(([method, path]) => `${method} ${path}`).sort());
  });

  it('has no endpoint twice', () => {
    const keys = ALL.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it.each(Object.entries(ENDPOINTS).map(([name, endpoint]) => [name, endpoint as Endpoint] as const))(
    '%s has a schema for each parameter of its path, and lists its errors',
    (_name, endpoint) => {
      const names = [...endpoint.path.matchAll(/\{(\w+)\}/gu)].map(([, name]) => name);
      expect(shapeOf(endpoint.params)).toEqual(names);
      if (names.length > 0) expect(endpoint.errors).toContain(404);
      expect(endpoint.errors.includes(422)).toBe(
        endpoint.params !== undefined || endpoint.query !== undefined || endpoint.request !== undefined,
      );
      expect(endpoint.response === null).toBe(endpoint.success === 202 || endpoint.success === 204);
      expect(endpoint.method === 'GET' && endpoint.request !== undefined).toBe(false);
    },
  );

  it('has the answers of redeploy that the contract names', () => {
    expect(ENDPOINTS.redeployRevision).toMatchObject({ success: 200, errors: [404, 400, 422] });
  });
});
