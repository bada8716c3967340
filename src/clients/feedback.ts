import type { FeedbackSubmission } from '@slipway/contract/runApi/feedback';
import { type CallOptions, Exchange } from './exchange.ts';
import { createAgent } from './service.ts';
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

  return {
    submit: async (link: string, feedback: FeedbackSubmission, call: CallOptions): Promise<void> => {
      const url = parseLink(link);
      const exchange = new Exchange(
        agent,
        {
          method: 'POST',
          url,
          shownPath: SHOWN_PATH,
          headers: { accept: 'application/json' },
          body: JSON.stringify(feedback),
          secrets: [link, url.pathname, url.pathname.split('/').at(-1) ?? ''],
        },
        call,
      );
      await exchange.text(ANSWER_MAX_BYTES);
    },
    close: () => agent.close(),
  };
}

/** The answer's content is not used. */
const ANSWER_MAX_BYTES = 1_048_576;

function parseLink(link: string): URL {
  const url = URL.canParse(link) ? new URL(link) : undefined;
  if (url !== undefined && /^https?:$/u.test(url.protocol)) return url;
  throw new ServiceError('SLIPWAY_REFUSED', 'The feedback link is not an http or https URL', {
    method: 'POST',
    path: SHOWN_PATH,
    mayHaveBeenTaken: false,
  });
}
