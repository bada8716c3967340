import { Agent } from 'undici';
import { afterAll, describe, expect, it } from 'vitest';

import { type CommentsOf, writeComment } from '../../../src/clients/notify/comments.ts';
import { json, startService } from '../faultyService.ts';

const TOKEN = 'a-token-that-may-comment';
/** A comment that the host does not list. */
const HIDDEN = 'buy now';
const MARKER = '<!-- slipway-preview -->';

const agent = new Agent();
afterAll(() => agent.close());

const KINDS = {
  github: {
    repository: 'team/agent',
    all: '/repos/team/agent/issues/7/comments',
    one: '/repos/team/agent/issues/comments/',
    change: 'PATCH',
  },
  gitlab: {
    repository: 'team/sub/agent',
    all: '/projects/team%2Fsub%2Fagent/merge_requests/7/notes',
    one: '/projects/team%2Fsub%2Fagent/merge_requests/7/notes/',
    change: 'PUT',
  },
} as const;

/** A host with these comments, the oldest first. */
async function startHost(kind: keyof typeof KINDS, bodies: readonly string[]) {
  const { all, one, change, repository } = KINDS[kind];
  const comments = bodies.map((body, index) => ({ id: index + 1, body }));
  const calls: string[] = [];
  const service = await startService(({ method, url, headers, body }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://host.test');
    const sent = headers.authorization ?? headers['private-token'];
    if (sent !== (kind === 'github' ? `Bearer ${TOKEN}` : TOKEN)) {
      json(response, 401, { message: `not ${String(sent)}` });
      return;
    }
    calls.push(method);
    const text = body === '' ? '' : (JSON.parse(body) as { body: string }).body;
    if (pathname === all && method === 'GET') {
      const [page, size] = [Number(searchParams.get('page')), Number(searchParams.get('per_page'))];
      // As on both hosts, only the header says whether there is more: a page may lack what spammers wrote.
      if (page * size < comments.length)
        response.setHeader('link', `<${url}&page=1>; rel="first", <${url}&page=${page + 1}>; rel="next"`);
      const listed = comments.slice((page - 1) * size, page * size);
      json(
        response,
        200,
        listed.filter(({ body: text }) => text !== HIDDEN),
      );
    } else if (pathname === all && method === 'POST') {
      const added = { id: comments.length + 1, body: text };
      comments.push(added);
      json(response, 201, added);
    } else if (pathname.startsWith(one) && method === change) {
      const changed = comments.find(({ id }) => id === Number(pathname.slice(one.length)));
      if (changed !== undefined) changed.body = text;
      json(response, 200, changed);
    } else if (pathname.startsWith(one) && method === 'DELETE') {
      const index = comments.findIndex(({ id }) => id === Number(pathname.slice(one.length)));
      comments.splice(index, 1);
      response.writeHead(204).end();
    } else json(response, 404, { message: 'Not Found' });
  });
  const of: CommentsOf = { kind, apiUrl: service.url, token: TOKEN, repository, pr: 7 };
  return { of, comments, calls };
}

describe.each(Object.keys(KINDS) as (keyof typeof KINDS)[])('a comment on %s', (kind) => {
  const body = `${MARKER}\nready`;

  it('is created if there is none', async () => {
    const { of, comments } = await startHost(kind, ['looks good']);
    expect(await writeComment(agent, of, { marker: MARKER, body }, {})).toBe('comment 2: added');
    expect(comments[1]?.body).toBe(body);
  });

  it('is updated at its place in a discussion of any length', async () => {
    const others = Array.from({ length: 450 }, (_, index) => `comment ${index}, which quotes ${MARKER}`);
    const { of, comments } = await startHost(kind, [HIDDEN, ...others, `${MARKER}\nreleasing`]);
    expect(await writeComment(agent, of, { marker: MARKER, body }, {})).toBe('comment 452: updated');
    expect(comments).toHaveLength(452);
    expect(comments[451]?.body).toBe(body);
  });

  it('is not written into a discussion without an end', async () => {
    const { of, comments } = await startHost(kind, Array<string>(5_001).fill(HIDDEN));
    expect(await writeComment(agent, of, { marker: MARKER, body }, {})).toContain('more than 5000 comments');
    expect(comments).toHaveLength(5_001);
  });

  it('replaces others that a late request has added', async () => {
    const { of, comments } = await startHost(kind, [`${MARKER}\none`, 'looks good', `${MARKER}\ntwo`]);
    expect(await writeComment(agent, of, { marker: MARKER, body }, {})).toBe('comment 1: updated');
    expect(comments).toEqual([
      { id: 1, body },
      { id: 2, body: 'looks good' },
    ]);
  });

  it('is not written if it is up to date', async () => {
    const { of, calls } = await startHost(kind, [body]);
    await writeComment(agent, of, { marker: MARKER, body }, {});
    expect(calls).toEqual(['GET']);
  });

  it('fails without a valid token, and does not repeat the token', async () => {
    const { of } = await startHost(kind, []);
    const token = 'another-token-that-may-not';
    const failed = writeComment(agent, { ...of, token }, { marker: MARKER, body }, {});
    await expect(failed).rejects.toMatchObject({ code: 'SLIPWAY_UNAUTHORIZED' });
    await expect(failed).rejects.not.toThrow(token);
  });
});
