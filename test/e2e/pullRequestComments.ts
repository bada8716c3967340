import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

import { expect } from 'vitest';

/** The comments of a repository's pull requests, on a GitHub of this machine. */
export class PullRequestComments {
  /** The token that may comment. */
  readonly token = 'a-token-that-may-comment';
  readonly repository = 'team/agent';
  readonly #comments = new Map<number, { id: number; body: string }[]>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      void text(request).then((sent) => {
        const { pathname } = new URL(request.url ?? '', 'http://github.test');
        const isKnown = request.headers.authorization === `Bearer ${this.token}`;
        response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' });
        response.end(
          JSON.stringify(isKnown ? this.#answer(request.method ?? '', pathname, sent) : { message: 'no' }),
        );
      });
    });
  }

  static async start(): Promise<PullRequestComments> {
    const github = new PullRequestComments();
    await new Promise<void>((resolve) => github.#server.listen(0, '127.0.0.1', resolve));
    return github;
  }

  get apiUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The one comment of a pull request. */
  of(pr: number): string {
    const all = this.#comments.get(pr) ?? [];
    expect(all).toHaveLength(1);
    return all[0]?.body ?? '';
  }

  async stop(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(method: string, path: string, sent: string): unknown {
    const pattern = /^\/repos\/team\/agent\/issues\/(?:(\d+)\/comments|comments\/(\d+))$/;
    const [, pr, id] = pattern.exec(path) ?? [];
    const body = sent === '' ? '' : (JSON.parse(sent) as { body: string }).body;
    if (method === 'PATCH') {
      const changed = [...this.#comments.values()].flat().find((comment) => comment.id === Number(id));
      if (changed !== undefined) changed.body = body;
      return changed;
    }
    const all = this.#comments.get(Number(pr)) ?? [];
    if (method === 'GET') return all;
    const added = { id: Number(pr) * 100 + all.length, body };
    this.#comments.set(Number(pr), [...all, added]);
    return added;
  }
}
