import { type Dispatcher, interceptors } from 'undici';

import { type CallOptions, Exchange, REFUSED_REDIRECT } from './exchange.ts';
import { createAgent } from './service.ts';

/** How many redirects a download follows. It sends no key that could go astray. */
const REDIRECTS_MAX = 5;

/**
 * The bytes that a URL returns. Errors show neither its query nor what that contains.
 * @throws ServiceError; BAD_ANSWER if there are more than `maxBytes`.
 */
export async function download(url: URL, maxBytes: number, call: CallOptions = {}): Promise<Buffer> {
  const agent = createAgent();
  const exchange = new Exchange(
    following(agent, url),
    {
      method: 'GET',
      url,
      headers: { accept: '*/*' },
      secrets: [url.search.slice(1), ...url.searchParams.values()].filter((text) => text !== ''),
    },
    { timeoutMs: 60_000, ...call },
  );
  try {
    return await exchange.bytes(maxBytes);
  } finally {
    await agent.close();
  }
}

/** A dispatcher that follows redirects, except from https to http: on the way, anybody could change those bytes. */
export function following(agent: Dispatcher, { protocol }: URL): Dispatcher {
  const secured: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
    const isSafe = protocol !== 'https:' || String(options.origin).startsWith('https:');
    if (!isSafe) throw Object.assign(new Error('a redirect to http'), { code: REFUSED_REDIRECT });
    return dispatch(options, handler);
  };
  return agent.compose(secured, interceptors.redirect({ maxRedirections: REDIRECTS_MAX }));
}
