import type { Readable } from 'node:stream';

import type { Dispatcher } from 'undici';

import { formatDuration } from '../domain/duration.ts';
import type { Span, SpanStart } from '../traces/span.ts';
import { startSpan } from '../traces/trace.ts';
import { decodedBody } from './contentCoding.ts';
import {
  describeDetail,
  errorDetail,
  meaningOfStatus,
  retryAfterMs,
  ServiceError,
  type ServiceErrorCode,
  type ServiceErrorOptions,
} from './serviceError.ts';

export interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT';
  readonly url: URL;
  /** The path with parameter names, for traces. Default: the path that errors show. */
  readonly template?: string;
  /** The path that errors show if the real one is a credential. Default: the real path. */
  readonly shownPath?: string;
  /** The origin that errors show if the real one is part of a credential. Default: the URL's origin. */
  readonly shownOrigin?: string;
  /** Beside those that every request has: `user-agent`, and `content-type` of a body that is text, which is JSON. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | AsyncIterable<Uint8Array>;
  /** Texts of the request that no error may repeat. */
  readonly secrets: readonly string[];
  /** The hint of SLIPWAY_UNAUTHORIZED. Default: a hint that fits every service. */
  readonly unauthorizedHint?: string;
}

export interface CallOptions {
  /** Ends the call. The error then says whether the request may have been applied. */
  readonly signal?: AbortSignal;
  /** The longest time to the end of the answer (a stream's beginning), in milliseconds; 0: none. Default: the client's. */
  readonly timeoutMs?: number;
}

/** `body`: without its content coding. */
type Answer = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'> & { readonly body: Readable };

const ERROR_BODY_MAX_BYTES = 65_536;

const HEADERS = { 'user-agent': 'slipway' };
const HEADERS_OF_JSON = { ...HEADERS, 'content-type': 'application/json' };

/**
 * One request and its answer, with what is known if it fails. Most important is whether the request can have reached
 * the service. That is so from the moment at which it is handed to a connected socket, which the dispatcher reports.
 * Before that (name lookup, connecting, waiting for a free connection) nothing was sent. After that, it is unknown
 * how much arrived, even if a kept-alive connection turns out to be closed, because the close may have crossed the
 * request. (A close that has already arrived is noticed before writing, and the pool opens another connection.)
 */
export class Exchange {
  readonly #dispatcher: Dispatcher;
  readonly #request: ExchangeRequest;
  readonly #bounds: CallOptions;
  readonly #end = new AbortController();
  readonly #onAbort = (): void => this.#end.abort();
  #timer: NodeJS.Timeout | undefined;
  #written = false;
  #timedOut = false;
  #answer: Answer | undefined;
  #span: Span | undefined;

  constructor(dispatcher: Dispatcher, request: ExchangeRequest, bounds: CallOptions) {
    this.#dispatcher = dispatcher;
    this.#request = request;
    this.#bounds = bounds;
  }

  /** Sends the request, and waits for the head of a successful answer. @throws ServiceError for every other result. */
  async open(): Promise<Answer> {
    const { signal } = this.#bounds;
    if (signal?.aborted === true) throw this.failure(signal.reason);
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    this.restartTimer();
    this.#span = startSpan(this.#spanStart());
    const answer = await this.#send();
    this.#answer = answer;
    this.#span.set({ 'http.response.status_code': answer.statusCode });
    // Reading reports errors. Without a listener, an error between two reads would end the process.
    answer.body.on('error', () => undefined);
    if (answer.statusCode < 200 || answer.statusCode > 299) throw await this.#refusal(answer);
    return answer;
  }

  /** The headers of the answer, also of one that is no success. */
  get headers(): Answer['headers'] {
    return this.#answer?.headers ?? {};
  }

  /** The whole body as text. @throws what {@link bytes} throws. */
  async text(maxBytes: number): Promise<string> {
    return new TextDecoder().decode(await this.bytes(maxBytes));
  }

  /**
   * The whole body. Opens the exchange if it is not open.
   * @throws ServiceError NO_ANSWER if it is incomplete, BAD_ANSWER if it is longer than `maxBytes`.
   */
  async bytes(maxBytes: number): Promise<Buffer> {
    const { body } = this.#answer ?? (await this.open());
    try {
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of body as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > maxBytes) throw this.badAnswer(`an answer of more than ${maxBytes} bytes`);
        chunks.push(chunk);
      }
      return Buffer.concat(chunks);
    } catch (error) {
      throw error instanceof ServiceError ? error : this.failure(error);
    } finally {
      this.close();
    }
  }

  /** Restarts the timeout, because data arrived. */
  restartTimer(): void {
    const { timeoutMs } = this.#bounds;
    this.stopTimer();
    if (timeoutMs === undefined || timeoutMs <= 0) return;
    this.#timer = setTimeout(
      () => {
        this.#timedOut = true;
        this.#end.abort();
      },
      Math.min(timeoutMs, LONGEST_TIMER_MS),
    );
  }

  /** Ends the timeout. From here on, only the signal limits the exchange. */
  stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Releases the timer, the signal, and the connection if the answer was not read completely. */
  close(): void {
    this.stopTimer();
    this.#bounds.signal?.removeEventListener('abort', this.#onAbort);
    if (this.#answer !== undefined && !this.#answer.body.destroyed) this.#answer.body.destroy();
    this.#span?.end();
  }

  failure(cause: unknown): ServiceError {
    const { signal, timeoutMs = 0 } = this.#bounds;
    const { method } = this.#request;
    const what = `${method} ${this.#path}`;
    const lost = this.#written ? 'SLIPWAY_NO_ANSWER' : 'SLIPWAY_UNREACHABLE';
    if (signal?.aborted === true) {
      const when = this.#written ? '' : ' before it was sent';
      return this.#error(lost, `${what} was aborted${when}`, { cause, aborted: true });
    }
    if (this.#timedOut) {
      const message = this.#written
        ? `${this.#origin} did not answer ${what} within ${formatDuration(timeoutMs)}`
        : `${this.#origin} could not be connected to within ${formatDuration(timeoutMs)}`;
      return this.#error(lost, message, { cause });
    }
    const code = codeOf(cause);
    const reason = REASONS[code] ?? (code === '' ? 'the transport failed' : code);
    if (!this.#written) {
      const hint = reason === UNTRUSTED ? TRUST : undefined;
      return this.#error('SLIPWAY_UNREACHABLE', `${this.#origin} could not be reached: ${reason}`, {
        cause,
        hint,
      });
    }
    const isNoHttp = isNotHttp(cause);
    if (isNoHttp && this.#answer === undefined) return this.badAnswer('not HTTP');
    const redirect = REFUSED_REDIRECTS[code];
    if (redirect !== undefined) return this.badAnswer(redirect);
    // The parser's error quotes the answer, so it is not kept as a cause.
    const kept = isNoHttp ? undefined : cause;
    return this.incomplete(reason, kept);
  }

  /** The error if an answer ended early. The request may have been applied. */
  incomplete(reason: string, cause?: unknown): ServiceError {
    const what = `${this.#request.method} ${this.#path}`;
    return this.#error('SLIPWAY_NO_ANSWER', `No complete answer to ${what}: ${reason}`, { cause });
  }

  /** The error if a successful status has unexpected content. The request may have been applied. */
  badAnswer(instead: string): ServiceError {
    const what = `${this.#request.method} ${this.#path}`;
    return this.#error('SLIPWAY_BAD_ANSWER', `The answer to ${what} is ${instead}`, {});
  }

  get #path(): string {
    return this.#request.shownPath ?? this.#request.url.pathname;
  }

  get #origin(): string {
    return this.#request.shownOrigin ?? this.#request.url.origin;
  }

  #error(code: ServiceErrorCode, message: string, options: Partial<ServiceErrorOptions>): ServiceError {
    this.#span?.fail(this.#answer === undefined ? code : String(this.#answer.statusCode));
    this.close();
    const { method } = this.#request;
    return new ServiceError(code, message, {
      method,
      path: this.#path,
      place: `${this.#origin}${this.#path}`,
      mayHaveBeenTaken: this.#written,
      status: this.#answer?.statusCode,
      ...options,
    });
  }

  async #send(): Promise<Answer> {
    const { method, url, body } = this.#request;
    const headers = { ...(typeof body === 'string' ? HEADERS_OF_JSON : HEADERS), ...this.#request.headers };
    const traceparent = this.#span?.traceparent;
    const dispatcher = this.#dispatcher.compose(noticeWriting(() => (this.#written = true)));
    const sent = dispatcher.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method,
      headers: traceparent === undefined ? headers : { ...headers, traceparent },
      body: body ?? null,
      signal: this.#end.signal,
    } as Dispatcher.RequestOptions);
    try {
      const answer = await Promise.race([sent, this.#ended()]);
      const { statusCode, headers: fields } = answer;
      const decoded = decodedBody(answer.body, single(fields['content-encoding']));
      return { statusCode, headers: fields, body: decoded };
    } catch (error) {
      // Given up while connecting: the dispatcher drops the request before it writes it.
      sent.then(
        (late) => late.body.destroy(),
        () => undefined,
      );
      throw this.failure(error);
    }
  }

  /** OpenTelemetry's conventions for HTTP. The URL has no query and nothing that errors hide. */
  #spanStart(): SpanStart {
    const { method, url, template = this.#path, shownOrigin } = this.#request;
    const port = url.port === '' ? DEFAULT_PORTS[url.protocol] : Number(url.port);
    return {
      name: `${method} ${template}`,
      kind: 'client',
      attributes: {
        'http.request.method': method,
        'url.template': template,
        ...(shownOrigin === undefined
          ? {
              'url.full': `${url.origin}${this.#path}`,
              'server.address': url.hostname,
              'server.port': port,
            }
          : { 'server.address': shownOrigin }),
      },
    };
  }

  /** Rejects when the exchange is ended, because the dispatcher checks its signal only once it is connected. */
  #ended(): Promise<never> {
    return new Promise((_, reject) => {
      this.#end.signal.addEventListener('abort', () => reject(new Error('The call was ended')), {
        once: true,
      });
    });
  }

  async #refusal(answer: Answer): Promise<ServiceError> {
    const { statusCode: status, headers } = answer;
    const detail = errorDetail(await this.#errorBody(), this.#request.secrets);
    const { code, mayHaveBeenTaken, hint } = meaningOfStatus(status);
    const words = describeDetail(detail);
    const what = `${this.#request.method} ${this.#path}`;
    return this.#error(code, `${what} was answered with ${status}${words === '' ? '' : `: ${words}`}`, {
      status,
      detail,
      mayHaveBeenTaken,
      retryAfterMs: retryAfterMs(single(headers['retry-after']), single(headers['date'])),
      hint: code === 'SLIPWAY_UNAUTHORIZED' ? this.#request.unauthorizedHint : hint,
    });
  }

  async #errorBody(): Promise<string | undefined> {
    try {
      return await this.text(ERROR_BODY_MAX_BYTES);
    } catch (error) {
      if (error instanceof ServiceError) return undefined;
      throw error;
    }
  }
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** A timer's limit is 31 bits. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** The first value of a header that may be repeated. */
export function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

function noticeWriting(notice: () => void): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) =>
    dispatch(options, {
      onRequestStart: (controller, context: unknown) => {
        handler.onRequestStart?.(controller, context);
        if (!controller.aborted) notice();
      },
      onRequestUpgrade: (...upgrade) => handler.onRequestUpgrade?.(...upgrade),
      onResponseStart: (...start) => handler.onResponseStart?.(...start),
      onResponseData: (...data) => handler.onResponseData?.(...data),
      onResponseEnd: (...end) => handler.onResponseEnd?.(...end),
      onResponseError: (...error) => handler.onResponseError?.(...error),
    });
}

/** Whether the service does not speak HTTP, or sends more headers than are accepted. */
function isNotHttp(cause: unknown): boolean {
  return (
    (cause instanceof Error && cause.name === 'HTTPParserError') ||
    codeOf(cause) === 'UND_ERR_HEADERS_OVERFLOW'
  );
}

/** The code of an error of the dispatcher: it must not follow a redirect. */
export const REFUSED_REDIRECT = 'REFUSED_REDIRECT';

const UNTRUSTED = 'this process does not know the authority of its certificate';
const TRUST = 'Start this process with NODE_EXTRA_CA_CERTS, the file with the certificate of that authority.';

const NO_TLS = 'it does not speak TLS, which https needs';

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ENOTFOUND: 'the name does not resolve',
  EAI_AGAIN: 'the name could not be looked up',
  ENETUNREACH: 'the network is unreachable',
  EHOSTUNREACH: 'the host is unreachable',
  ETIMEDOUT: 'connecting took too long',
  UND_ERR_CONNECT_TIMEOUT: 'connecting took too long',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  UND_ERR_CLOSED: 'the client is closed',
  UND_ERR_DESTROYED: 'the client is closed',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'it ended before its end',
  Z_BUF_ERROR: 'it ended before its end',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
};

/** Redirects that the dispatcher does not follow. Undici has no code of its own for a circle. */
const REFUSED_REDIRECTS: Readonly<Record<string, string>> = {
  UND_ERR_INVALID_ARG: 'a redirect in a circle',
  [REFUSED_REDIRECT]: 'a redirect to an address without https',
};

function codeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return '';
  const { code } = cause as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : codeOf(cause.cause);
}
