import { createHmac } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { closeServer, listen, urlOf } from '../support/listen.ts';

const SECRET = 'what only the evaluator and Slipway know';

/** How it answers one call: with a body and a status (200 by default), or never. */
export type Answer = { readonly status?: number; readonly body: string } | 'never';

/** The answer of a score. */
export const scored = (score: number, comment?: string): Answer => ({
  body: JSON.stringify({ score, comment }),
});

/** An evaluator that verifies signatures, and answers as a test says. */
export class EvaluatorService {
  /** The requests with a valid signature, in the order of arrival. */
  readonly asked: Record<string, unknown>[] = [];
  /** The number of requests without one. */
  forged = 0;
  /** The text that must never leave the worker. */
  readonly secret = SECRET;
  /** The answers to the next calls, one after another; then the last one again. */
  answers: readonly Answer[] = [scored(1)];
  readonly #server: Server;
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#server = createServer((request, response) => {
      void text(request).then((body) => {
        const header = String(request.headers['slipway-signature']);
        const [, at = '', digest] = /^t=(\d+),v1=(\w+)$/.exec(header) ?? [];
        const own = createHmac('sha256', SECRET).update(`${at}.${body}`).digest('hex');
        if (digest === own && Math.abs(Date.now() / 1_000 - Number(at)) < 300) this.#answer(body, response);
        else {
          this.forged += 1;
          response.writeHead(401).end();
        }
      });
    });
  }

  /** @param folder - contains the file with its secret, for a reference. */
  static async start(folder: string): Promise<EvaluatorService> {
    const service = new EvaluatorService(folder);
    await listen(service.#server);
    await writeFile(join(folder, 'evaluator-secret'), `${SECRET}\n`);
    return service;
  }

  /** Its entry for `evaluators` of a check. */
  entry(fields: Record<string, unknown> = {}): Record<string, unknown> {
    return {
      name: 'tone',
      url: `${urlOf(this.#server)}/tone`,
      secret: { from: `file:${join(this.#folder, 'evaluator-secret')}` },
      minScore: 0.8,
      timeout: '2s',
      ...fields,
    };
  }

  close(): Promise<void> {
    return closeServer(this.#server);
  }

  #answer(body: string, response: ServerResponse): void {
    this.asked.push(JSON.parse(body) as Record<string, unknown>);
    const [answer = 'never', ...later] = this.answers;
    if (later.length > 0) this.answers = later;
    if (answer === 'never') return;
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' }).end(answer.body);
  }
}
