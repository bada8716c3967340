import { fromPublicRequest, toPublicIssues } from '@slipway/contract/controlPlane/publicRequest';
import {
  mixedVocabulary,
  notPublic,
  vocabularyOfRequest,
  translate,
  type Vocabulary,
} from '@slipway/contract/controlPlane/vocabulary';
import type { ValidationIssue } from '@slipway/contract/httpErrors';
import type { Context, MiddlewareHandler } from 'hono';
import type { Kysely } from 'kysely';

import { invalid } from '../../http/problem.ts';
import type { Schema } from '../../store/schema.ts';

/** Which vocabularies a platform speaks. With `contract`, the public relative's names are unknown fields and words. */
export type SpokenVocabulary = Vocabulary | 'both';

declare module 'hono' {
  interface ContextVariableMap {
    /** Set by {@link vocabularyEdge}; absent on a platform that speaks the contract's alone. */
    vocabulary: Vocabulary | undefined;
  }
}

/** The vocabulary of a request, in which it is answered. */
export function vocabularyOf(c: Context): Vocabulary {
  return c.get('vocabulary') ?? 'contract';
}

/**
 * Middleware between the wire and the routes of deployments and listeners, which know the contract's names alone: a
 * request in the public vocabulary is translated before it is parsed, its answer and its validation issues after.
 *
 * With `both`, a request is answered in the vocabulary that it tells (`vocabularyOf`). One that tells none, as every
 * GET, is answered in the one that its deployment or listener was made in, else in the contract's; in a list each
 * stands in its own.
 */
export function vocabularyEdge(options: {
  spoken: Exclude<SpokenVocabulary, 'contract'>;
  made: PublicResources;
}): MiddlewareHandler {
  const { spoken, made } = options;
  const ownOf = async (id: unknown): Promise<Vocabulary> =>
    (await made.ids()).has(String(id).toLowerCase()) ? 'public' : 'contract';

  return async (c, next) => {
    const request = await resourceRequest(c);
    const issues = spoken === 'public' ? notPublic(request) : mixedVocabulary(request);
    if (issues.length > 0) throw invalid(issues);
    const spokenHere = spoken === 'public' ? spoken : vocabularyOfRequest(request);
    const vocabulary = spokenHere ?? (await ownOf(RESOURCE_ID.exec(c.req.path)?.[1]));
    c.set('vocabulary', vocabulary);
    if (vocabulary === 'public' && request !== undefined) {
      replaceBody(c, fromPublicRequest(request));
    }
    await next();
    if (vocabulary === 'public') {
      await changeAnswer(c, (answer) => {
        if (c.res.status === 201) made.changed();
        // Where an answer has a list of details, they are the issues of a validation (`HttpProblem`).
        if (!Array.isArray(answer['detail'])) return translate(answer, 'public');
        return { detail: toPublicIssues(request, answer['detail'] as ValidationIssue[]) };
      });
    } else if (isList(c) && (await made.ids()).size > 0) {
      await changeAnswer(c, async ({ resources, ...page }) => {
        const each = (resources as { id: string }[]).map(async (resource) =>
          translate(resource, await ownOf(resource.id)),
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

/** The body of a request that makes or changes a resource; undefined where there is none, or none that can be read. */
async function resourceRequest(c: Context): Promise<unknown> {
  if (!['POST', 'PATCH'].includes(c.req.method) || !RESOURCE.test(c.req.path)) return undefined;
  try {
    return JSON.parse(await c.req.text());
  } catch (error) {
    // What is no JSON is refused where it is parsed.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** What the routes read from now on instead of what was sent. */
function replaceBody(c: Context, body: unknown): void {
  const { url, method, headers } = c.req.raw;
  c.req.raw = new Request(url, { method, headers, body: JSON.stringify(body) });
  c.req.bodyCache = {};
}

function isList(c: Context): boolean {
  return c.req.method === 'GET' && c.res.ok && COLLECTION.test(c.req.path);
}

async function changeAnswer(c: Context, change: (answer: Record<string, unknown>) => unknown): Promise<void> {
  if (c.res.headers.get('content-type')?.startsWith('application/json') !== true) return;
  const answer = await change((await c.res.json()) as Record<string, unknown>);
  c.res = new Response(JSON.stringify(answer), c.res);
}

/**
 * The deployments and listeners that were made in the public vocabulary: what a request that names nothing is answered
 * by. None ever changes its vocabulary, and the database has one owner, so the ids are read when one was made and kept: about a
 * hundred bytes each, and none on a platform that no public client has used.
 */
export type PublicResources = ReturnType<typeof createPublicResources>;

/** Makes {@link PublicResources}; nothing is read before it is asked. */
export function createPublicResources(kysely: Kysely<Schema>) {
  const ids = new Set<string>();
  let reading: Promise<void> | undefined;
  const read = async (): Promise<void> => {
    for (const table of ['deployments', 'listeners'] as const) {
      const rows = kysely.selectFrom(table).select('id').where('vocabulary', '=', 'public');
      for (const { id } of await rows.execute()) ids.add(id);
    }
  };
  return {
    ids: async (): Promise<ReadonlySet<string>> => {
      reading ??= read();
      try {
        await reading;
      } catch (error) {
        reading = undefined;
        throw error;
      }
      return ids;
    },
    /** Says that another may have been made. */
    changed: (): void => {
      reading = undefined;
    },
  };
}
