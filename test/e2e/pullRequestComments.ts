import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';

import { expect } from 'vitest';
import { closeServer, listen, urlOf } from '../support/listen.ts';

/** The comments of a repository's pull requests, on a GitHub of this machine. */
export class PullRequestComments {
  readonly token = 'a-token-that-may-comment';
  readonly repository = 'team/agent';
  /** How long a request waits before it takes effect, even if its caller is gone by then. */
  hold: (method: string, pr: number) => Promise<void> | undefined = () => undefined;
  readonly #comments = new Map<number, { id: number; body: string }[]>();
  readonly #server: Server;
  #added = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      void text(request).then(async (sent) => {
        const { method = '' } = request;
        const { pathname } = new URL(request.url ?? '', 'http://github.test');
        const isKnown = request.headers.authorization === `Bearer ${this.token}`;
        const [, pr, id] = PATHS.exec(pathname) ?? [];
        const of = pr === undefined ? Math.floor(Number(id) / IDS) : Number(pr);
        await this.hold(method, of);
        response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' });
        response.end(
          JSON.stringify(isKnown ? this.#answer(method, of, Number(id), sent) : { message: 'no' }),
        );
      });
    });
  }

  static async start(): Promise<PullRequestComments> {
    const github = new PullRequestComments();
    await listen(github.#server);
    return github;
  }

  get apiUrl(): string {
    return urlOf(this.#server);
  }

  of(pr: number): string {
    const all = this.#comments.get(pr) ?? [];
    expect(all).toHaveLength(1);
    return all[0]?.body ?? '';
  }

  stop(): Promise<void> {
    return closeServer(this.#server);
  }

  #answer(method: string, pr: number, id: number, sent: string): unknown {
    const body = sent === '' ? '' : (JSON.parse(sent) as { body: string }).body;
    const all = this.#comments.get(pr) ?? [];
    if (method === 'GET') return all;
    if (method === 'PATCH') {
      const changed = all.find((comment) => comment.id === id);
      if (changed !== undefined) changed.body = body;
      return changed;
    }
    if (method === 'DELETE') {
      const left = all.filter((comment) => comment.id !== id);
      this.#comments.set(pr, left);
      return {};
    }
    const added = { id: pr * IDS + this.#added++, body };
    this.#comments.set(pr, [...all, added]);
    return added;
  }
}

const PATHS = /^\/repos\/team\/agent\/issues\/(?:(\d+)\/comments|comments\/(\d+))$/;
/** A comment's id names its pull request. */
const IDS = 1_000;
