import { createHmac } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { closeServer, listen, urlOf } from '../support/listen.ts';

const SECRET = 'what only the evaluator and Slipway know';

export const scored = (score: number, comment?: string): string => JSON.stringify({ score, comment });

/** An evaluator that verifies signatures, and answers as a test says. */
export class EvaluatorService {
  /** The requests with a valid signature, in the order of arrival. */
  readonly asked: Record<string, unknown>[] = [];
  /** The number of requests without one. */
  forged = 0;
  /** The text that must never leave the worker. */
  readonly secret = SECRET;
  answer = scored(1);
  readonly #server: Server;
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#server = createServer((request, response) => {
      void text(request).then((body) => {
        const header = String(request.headers['slipway-signature']);
        const [, at = '', digest] = /^t=(\d+),v1=(\w+)$/.exec(header) ?? [];
        const own = createHmac('sha256', SECRET).update(`${at}.${body}`).digest('hex');
        if (digest === own && Math.abs(Date.now() / 1_000 - Number(at)) < 300) {
          this.asked.push(JSON.parse(body) as Record<string, unknown>);
          response.writeHead(200, { 'content-type': 'application/json' }).end(this.answer);
        } else {
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
  entry(): Record<string, unknown> {
    return {
      name: 'tone',
      url: `${urlOf(this.#server)}/tone`,
      secret: { from: `file:${join(this.#folder, 'evaluator-secret')}` },
      minScore: 0.8,
      timeout: '2s',
    };
  }

  close(): Promise<void> {
    return closeServer(this.#server);
  }
}
