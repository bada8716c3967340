import { freshFetch } from './freshFetch.ts';

/** A control plane that a test calls past Slipway. */
export interface ControlPlane {
  readonly origin: string;
  readonly apiKey: string;
}

/**
 * Calls a control plane past Slipway.
 *
 * @returns what it answered, read as JSON; `undefined` where that is nothing.
 * @throws with what it answered where that is a failure.
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
