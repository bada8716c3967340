import { Agent, fetch, type RequestInit, type Response } from 'undici';

/** Without pipelining, not even by one: a connection ends with its answer. */
const dispatcher = new Agent({ pipelining: 0 });

/**
 * `fetch` on a connection of its own. One that was kept alive may be closed by the other side at the moment at which it
 * is used again, and what the tests call is killed all the time.
 */
export function freshFetch(url: string, options: RequestInit = {}): Promise<Response> {
  return fetch(url, { ...options, dispatcher });
}
