import { expect } from 'vitest';

/** Calls a platform under test. */
export class PlatformApi {
  readonly url: string;
  readonly #apiKey: string;

  /** @param ready - the platform's ready line. */
  constructor(ready: Readonly<Record<string, unknown>>) {
    this.url = String(ready['controlPlane']);
    this.#apiKey = String(ready['apiKey']);
  }

  call(method: string, path: string, body?: unknown): Promise<Response> {
    return fetch(this.url + path, {
      method,
      headers: { 'x-api-key': this.#apiKey, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
  }

  /** The JSON of an answer that must be a success. */
  async json<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await this.call(method, path, body);
    const text = await response.text();
    expect(response.status, text).toBeLessThan(300);
    return JSON.parse(text) as T;
  }
}
