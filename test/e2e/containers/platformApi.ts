import { expect } from 'vitest';

import { CREATES } from '../../../packages/contract/test/controlPlane/requests.ts';
import { archiveOf } from '../../../packages/platform/test/builder/archives.ts';
import { type Process, slipway } from '../processes.ts';
import { eventually } from '../stack.ts';

/** A revision and its deployment. */
export interface Shipped {
  readonly deployment: string;
  readonly revision: string;
}

/** Starts a platform whose builds and agents run in containers. */
export async function startContained(
  home: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly platform: Process; readonly api: PlatformApi }> {
  const where = ['--port', '0', '--home', home, '--isolation', 'container'];
  const platform = slipway(['platform', '--json', ...where], { env: { SLIPWAY_DOCKER: 'podman', ...env } });
  return { platform, api: new PlatformApi(await platform.ready()) };
}

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

  /** Deploys a source of these files. */
  async release(
    name: string,
    sources: Readonly<Record<string, string>>,
    sourceConfig: Readonly<Record<string, unknown>> = {},
  ): Promise<Shipped> {
    const request = { ...CREATES.internal_source, name, source_config: sourceConfig };
    const { id } = await this.json<{ id: string }>('POST', '/v2/deployments', request);
    const upload = await this.json<{
      upload_url: string;
      object_path: string;
      upload_headers: Record<string, string>;
    }>('POST', `/deployments/${id}/upload-url`);
    const archive = archiveOf(Object.entries(sources).map(([path, content]) => ({ path, content })));
    const put = { method: 'PUT', body: new Uint8Array(archive), headers: upload.upload_headers };
    expect((await fetch(upload.upload_url, put)).status).toBe(200);
    const change = { source_revision_config: { source_tarball_path: upload.object_path } };
    const { latest_revision_id: revision } = await this.json<{ latest_revision_id: string }>(
      'PATCH',
      `/v2/deployments/${id}`,
      change,
    );
    return { deployment: id, revision };
  }

  /** Deploys an image, and returns the deployment once it serves. */
  async deployImage(name: string, source: string, image: string, sourceConfig: object = {}): Promise<string> {
    const { id, latest_revision_id: revision } = await this.json<{ id: string; latest_revision_id: string }>(
      'POST',
      '/v2/deployments',
      {
        name,
        source,
        source_config: sourceConfig,
        source_revision_config: { image_uri: image },
        secrets: [],
      },
    );
    await this.ends({ deployment: id, revision }, 'DEPLOYED');
    return id;
  }

  /** Waits for a revision's end, and returns its reason. */
  async ends({ deployment, revision }: Shipped, expected: string): Promise<string> {
    return await eventually(async () => {
      const { status, status_message: why } = await this.json<{
        status: string;
        status_message: string | null;
      }>('GET', `/v2/deployments/${deployment}/revisions/${revision}`);
      expect(`${status} ${why ?? ''}`).toMatch(new RegExp(`^${expected} `));
      return why ?? '';
    }, 240_000);
  }
}
