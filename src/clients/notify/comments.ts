import type { Agent } from 'undici';
import { z } from 'zod';

import type { CallOptions } from '../exchange.ts';
import { githubApi } from './github.ts';
import { type AskRest, restApi } from './restApi.ts';

export interface CommentsOf {
  readonly kind: 'github' | 'gitlab';
  readonly apiUrl: string;
  readonly token: string;
  /** `owner/name`, or a GitLab project's whole path. */
  readonly repository: string;
  readonly pr: number;
}

/** The paths of the two APIs, and the method that changes a comment. */
interface CommentPaths {
  readonly ask: AskRest;
  readonly all: string;
  readonly one: (id: number) => string;
  readonly change: 'PATCH' | 'PUT';
}

const Comment = z.object({ id: z.int(), body: z.string().nullish() });

const PAGE_SIZE = 100;
/** GitHub allows 2,500 comments, and GitLab 5,000. */
const PAGES_MAX = 50;

/**
 * Writes one comment: changes the first one that begins with the marker, or adds it. Removes others that begin with it: a
 * request to add a comment can take effect after its answer was given up on. Safe to repeat.
 * @returns what came of it, in a few words.
 */
export async function writeComment(
  agent: Agent,
  of: CommentsOf,
  { marker, body }: { readonly marker: string; readonly body: string },
  call: CallOptions,
): Promise<string> {
  const { ask, all, one, change } =
    of.kind === 'github' ? onGithub(agent, of, call) : onGitlab(agent, of, call);
  const list = { hasNext: true };
  for (let page = 1; list.hasNext && page <= PAGES_MAX; page++) {
    const query = { per_page: String(PAGE_SIZE), page: String(page) };
    const onPage = (hasNext: boolean): void => void (list.hasNext = hasNext);
    const comments = await ask('GET', all, z.array(Comment), { query, onPage });
    const [found, ...copies] = comments.filter((comment) => comment.body?.startsWith(marker) === true);
    if (found !== undefined) {
      for (const { id } of copies) await ask('DELETE', one(id), z.unknown());
      if (found.body === body) return `comment ${found.id}: says so already`;
      await ask(change, one(found.id), z.unknown(), { body: { body } });
      return `comment ${found.id}: updated`;
    }
  }
  if (list.hasNext) return `not written: the discussion has more than ${PAGES_MAX * PAGE_SIZE} comments`;
  const { id } = await ask('POST', all, Comment, { body: { body } });
  return `comment ${id}: added`;
}

function onGithub(agent: Agent, { pr, ...repository }: CommentsOf, call: CallOptions): CommentPaths {
  return {
    ask: githubApi(agent, repository, call),
    all: `issues/${pr}/comments`,
    one: (id) => `issues/comments/${id}`,
    change: 'PATCH',
  };
}

function onGitlab(
  agent: Agent,
  { apiUrl, token, repository, pr }: CommentsOf,
  call: CallOptions,
): CommentPaths {
  const all = `merge_requests/${pr}/notes`;
  const ask = restApi(
    agent,
    {
      baseUrl: `${apiUrl}/projects/${encodeURIComponent(repository)}`,
      called: 'GitLab',
      headers: { 'private-token': token, accept: 'application/json' },
      token,
      template: (path) => `/projects/{project}/${path.replaceAll(/(?<=\/)\d+/gu, '{id}')}`,
    },
    call,
  );
  return { ask, all, one: (id) => `${all}/${id}`, change: 'PUT' };
}
