import { freshFetch } from './freshFetch.ts';

export interface ControlPlane {
  readonly origin: string;
  readonly apiKey: string;
}

/**
 * Calls a control plane directly, without Slipway.
 * @returns the parsed JSON answer; `undefined` if it is empty.
 * @throws Error with the answer, if it is an error.
 */
export async function callByHand(
  { origin, apiKey }: ControlPlane,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<unknown> {
  const answer = await freshFetch(`${origin}${path}`, {
    method,
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text === '' ? undefined : (JSON.parse(text) as unknown);
}
