import { createHmac } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { closeServer, listen } from '../support/listen.ts';

const SECRET = 'what only both sides know';
/** A webhook's address is a credential: this part of it must not appear anywhere. */
const TOKEN = 'T0K3N-in-the-address';

export class WebhookReceiver {
  /** Notices with a valid signature, in the order of arrival: event and name. */
  readonly signed: string[] = [];
  /** Other notices. */
  readonly unsigned: string[] = [];
  /** Texts that must never leave the worker. */
  readonly secrets: readonly string[] = [TOKEN, SECRET];
  readonly #server: Server;
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#server = createServer((request, response) => {
      void text(request).then((body) => {
        const [, at = '', digest] =
          /^t=(\d+),v1=(\w+)$/.exec(String(request.headers['slipway-signature'])) ?? [];
        const own = createHmac('sha256', SECRET).update(`${at}.${body}`).digest('hex');
        const { event, name } = JSON.parse(body) as { event: string; name: string };
        (digest === own && request.url === `/${TOKEN}` ? this.signed : this.unsigned).push(
          `${event} ${name}`,
        );
        response.end();
      });
    });
  }

  /** @param folder - contains the files with its address and its secret, for references. */
  static async start(folder: string): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(folder);
    await writeFile(join(folder, 'webhook-url'), `${await listen(receiver.#server)}/${TOKEN}`);
    await writeFile(join(folder, 'webhook-secret'), SECRET);
    return receiver;
  }

  /** Its entry for `notify` in `slipway.yaml`. */
  get config(): Record<string, unknown> {
    return {
      name: 'ops',
      kind: 'webhook',
      url: { from: `file:${join(this.#folder, 'webhook-url')}` },
      secret: { from: `file:${join(this.#folder, 'webhook-secret')}` },
    };
  }

  close(): Promise<void> {
    return closeServer(this.#server);
  }
}
