import type { FeedbackQuery, FeedbackSubmission } from '@slipway/contract/runApi/feedback';
import { Exchange } from './exchange.ts';
import { type CallOptions, createAgent } from './service.ts';
import { ServiceError } from './serviceError.ts';

/** The path that errors show for a link, because the end of the real path is a credential. */
const SHOWN_PATH = '/api/v1/feedback/tokens/…';

export type FeedbackClient = ReturnType<typeof createFeedbackClient>;

/**
 * Creates a client with its own pool of kept-alive connections. It records feedback through a run's pre-signed links
 * (contract 001, "Feedback submission fields"). It sends no key: the link is the credential, so errors show neither
 * the link nor its path. Each call throws a ServiceError unless it succeeds.
 */
export function createFeedbackClient() {
  const agent = createAgent();

  const send = async (
    method: 'GET' | 'POST',
    link: string,
    { body, query = {} }: { body?: string; query?: Readonly<Record<string, unknown>> },
    { signal, timeoutMs = 30_000 }: CallOptions = {},
  ): Promise<void> => {
    const url = parseLink(link, method);
    for (const [name, value] of Object.entries(query)) {
      if (value === undefined || value === null) continue;
      url.searchParams.set(name, typeof value === 'string' ? value : JSON.stringify(value));
    }
    const exchange = new Exchange(
      agent,
      {
        method,
        url,
        shownPath: SHOWN_PATH,
        headers: {
          accept: 'application/json',
          'user-agent': 'slipway',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body,
        secrets: [link, new URL(link).pathname, new URL(link).pathname.split('/').at(-1) ?? ''],
      },
      { signal, timeoutMs },
    );
    await exchange.open();
    await exchange.text(ANSWER_MAX_BYTES);
  };

  return {
    submit: (link: string, feedback: FeedbackSubmission, call?: CallOptions) =>
      send('POST', link, { body: JSON.stringify(feedback) }, call),
    /** Submits with GET, as a link in a page would. This has no metadata. */
    submitByQuery: (link: string, feedback: Omit<FeedbackQuery, 'metadata'>, call?: CallOptions) =>
      send('GET', link, { query: feedback }, call),
    /** Closes the connections after the running requests have ended. */
    close: () => agent.close(),
  };
}

/** The answer's content is not used. */
const ANSWER_MAX_BYTES = 1_048_576;

function parseLink(link: string, method: string): URL {
  const url = URL.canParse(link) ? new URL(link) : undefined;
  if (url !== undefined && /^https?:$/u.test(url.protocol)) return url;
  throw new ServiceError('SLIPWAY_REFUSED', 'The feedback link is not an http or https URL', {
    method,
    path: SHOWN_PATH,
    mayHaveBeenTaken: false,
  });
}
