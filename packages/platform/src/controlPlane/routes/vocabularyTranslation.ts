import {
  contractNameIssues,
  fromPublicRequest,
  mixedVocabularyIssues,
  toPublicIssues,
  translateResource,
  type Vocabulary,
  vocabularyOfRequest,
} from '@slipway/contract/controlPlane/vocabulary';
import type { ValidationIssue } from '@slipway/contract/httpErrors';
import type { Context, MiddlewareHandler } from 'hono';
import type { Kysely } from 'kysely';

import { bodyJson, readText } from '../../http/parse.ts';
import { invalid } from '../../http/problem.ts';
import type { Schema } from '../../store/schema.ts';

/** The vocabularies that a platform accepts. With `contract`, names of the public API are unknown. */
export type SpokenVocabulary = Vocabulary | 'both';

declare module 'hono' {
  interface ContextVariableMap {
    /** Set by {@link translateVocabulary}; absent on a platform that accepts only the contract's. */
    vocabulary: Vocabulary | undefined;
  }
}

/** The vocabulary of a request, and of its answer. */
export function vocabularyOf(c: Context): Vocabulary {
  return c.get('vocabulary') ?? 'contract';
}

/**
 * Middleware that translates between the wire and the routes of deployments and listeners, which use only the
 * contract's names. A request in the public vocabulary is translated before it is parsed, and its answer and
 * validation issues afterwards.
 *
 * With `both`, the request determines the vocabulary of its answer (`vocabularyOf`). If it does not, like every GET,
 * the answer uses the vocabulary that the resource was created in, else the contract's. In a list, each resource has
 * its own.
 */
export function translateVocabulary(options: {
  acceptedVocabulary: Exclude<SpokenVocabulary, 'contract'>;
  publicResources: PublicResources;
}): MiddlewareHandler {
  const { acceptedVocabulary, publicResources } = options;
  const resourceVocabulary = async (id: unknown): Promise<Vocabulary> =>
    (await publicResources.ids()).has(String(id).toLowerCase()) ? 'public' : 'contract';

  return async (c, next) => {
    const request = await resourceRequest(c);
    const issues =
      acceptedVocabulary === 'public' ? contractNameIssues(request) : mixedVocabularyIssues(request);
    if (issues.length > 0) throw invalid(issues);
    const requestVocabulary =
      acceptedVocabulary === 'public' ? acceptedVocabulary : vocabularyOfRequest(request);
    const vocabulary = requestVocabulary ?? (await resourceVocabulary(RESOURCE_ID.exec(c.req.path)?.[1]));
    c.set('vocabulary', vocabulary);
    if (vocabulary === 'public' && request !== undefined) {
      replaceBody(c, fromPublicRequest(request));
    }
    await next();
    if (vocabulary === 'public') {
      await transformAnswer(c, (answer) => {
        if (c.res.status === 201) publicResources.changed();
        // A list of details means validation issues (`HttpProblem`).
        if (!Array.isArray(answer['detail'])) return translateResource(answer, 'public');
        return { detail: toPublicIssues(request, answer['detail'] as ValidationIssue[]) };
      });
    } else if (isList(c) && (await publicResources.ids()).size > 0) {
      await transformAnswer(c, async ({ resources, ...page }) => {
        const each = (resources as { id: string }[]).map(async (resource) =>
          translateResource(resource, await resourceVocabulary(resource.id)),
        );
        return { resources: await Promise.all(each), ...page };
      });
    }
  };
}

/** The collections whose resources differ between the vocabularies. */
const COLLECTION = /^\/v2\/(?:deployments|listeners)$/u;
const RESOURCE_ID = /^\/v2\/(?:deployments|listeners)\/([^/]+)/u;
const RESOURCE = /^\/v2\/(?:deployments|listeners)(?:\/[^/]+)?$/u;

/** The body of a request that creates or changes a resource; undefined if there is none, or it is not JSON. */
async function resourceRequest(c: Context): Promise<unknown> {
  if (!['POST', 'PATCH'].includes(c.req.method) || !RESOURCE.test(c.req.path)) return undefined;
  // The parser rejects invalid JSON later.
  return bodyJson(await readText(c));
}

function replaceBody(c: Context, body: unknown): void {
  const { url, method, headers } = c.req.raw;
  c.req.raw = new Request(url, { method, headers, body: JSON.stringify(body) });
  c.req.bodyCache = {};
}

function isList(c: Context): boolean {
  return c.req.method === 'GET' && c.res.ok && COLLECTION.test(c.req.path);
}

async function transformAnswer(
  c: Context,
  change: (answer: Record<string, unknown>) => unknown,
): Promise<void> {
  if (c.res.headers.get('content-type')?.startsWith('application/json') !== true) return;
  const answer = await change((await c.res.json()) as Record<string, unknown>);
  c.res = new Response(JSON.stringify(answer), c.res);
}

/**
 * The deployments and listeners that were created in the public vocabulary, which answers to GET requests need. A
 * resource never changes its vocabulary, and the database has one owner, so the ids are read after each creation and
 * cached: about a hundred bytes each, and none without public clients.
 */
export type PublicResources = ReturnType<typeof createPublicResources>;

/** Makes {@link PublicResources}; it reads nothing before the first call. */
export function createPublicResources(kysely: Kysely<Schema>) {
  const ids = new Set<string>();
  let reading: Promise<ReadonlySet<string>> | undefined;
  const read = async (): Promise<ReadonlySet<string>> => {
    for (const table of ['deployments', 'listeners'] as const) {
      const rows = kysely.selectFrom(table).select('id').where('vocabulary', '=', 'public');
      for (const { id } of await rows.execute()) ids.add(id);
    }
    return ids;
  };
  return {
    ids: (): Promise<ReadonlySet<string>> =>
      (reading ??= read().catch((error: unknown) => {
        reading = undefined;
        throw error;
      })),
    changed: (): void => {
      reading = undefined;
    },
  };
}
