import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { closeServer, listen, urlOf } from '../../../../test/support/listen.ts';

/** A host of git repositories over http: git's `http-backend` behind a small server. */
export class GitServer {
  readonly #server: Server;
  readonly #root: string;
  /** Every request's path with its query, in order. */
  readonly requests: string[] = [];
  /** Every credential that was sent, as `user:password`. */
  readonly authorizations: string[] = [];
  /** The required `user:password`; undefined: none. */
  credential: string | undefined;
  /** Accepts requests, but never answers them. */
  hangs = false;
  /** How many further requests it answers with 503. */
  failures = 0;
  /** Redirects every request to this address. */
  redirectTo: string | undefined;

  private constructor(root: string) {
    this.#root = root;
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  /** @param root - the directory that holds the repositories. */
  static async start(root: string): Promise<GitServer> {
    const server = new GitServer(root);
    await listen(server.#server);
    return server;
  }

  get url(): string {
    return urlOf(this.#server);
  }

  close(): Promise<void> {
    return closeServer(this.#server);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.requests.push(request.url ?? '');
    const given = Buffer.from(
      (request.headers.authorization ?? '').replace(/^Basic /, ''),
      'base64',
    ).toString();
    if (given !== '') this.authorizations.push(given);
    if (this.hangs) return;
    if (this.failures > 0) {
      this.failures -= 1;
      response.writeHead(503).end();
      return;
    }
    if (this.redirectTo !== undefined) {
      response.writeHead(302, { location: `${this.redirectTo}${request.url ?? ''}` }).end();
      return;
    }
    if (this.credential !== undefined && given !== this.credential) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    const { pathname, search } = new URL(request.url ?? '/', this.url);
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'],
        HOME: this.#root,
        GIT_PROJECT_ROOT: this.#root,
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        REQUEST_METHOD: request.method,
        PATH_INFO: decodeURIComponent(pathname),
        QUERY_STRING: search.slice(1),
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        REMOTE_ADDR: '127.0.0.1',
      },
    });
    request.pipe(backend.stdin);
    backend.stdin.on('error', () => undefined);
    relay(backend.stdout, response);
  }
}

/** A CGI's answer: headers, an empty line, the body. */
function relay(output: NodeJS.ReadableStream, response: ServerResponse): void {
  let head = Buffer.alloc(0);
  const onHead = (chunk: Buffer): void => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    output.off('data', onHead);
    let status = 200;
    for (const line of head.subarray(0, end).toString().split('\r\n')) {
      const [name = '', value = ''] = line.split(/: (.*)/s);
      if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.writeHead(status);
    response.write(head.subarray(end + 4));
    output.pipe(response);
  };
  output.on('data', onHead);
  output.on('end', () => {
    if (!response.headersSent) response.writeHead(500).end();
  });
}
