import { Agent, fetch, type RequestInit, type Response } from 'undici';

/** 0: the connection is closed after its answer. */
const dispatcher = new Agent({ pipelining: 0 });

/** `fetch` on a new connection, because the tests kill servers often. */
export function freshFetch(url: string, options: RequestInit = {}): Promise<Response> {
  return fetch(url, { ...options, dispatcher });
}
