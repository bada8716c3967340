import { createHmac } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';

import { GitServer } from '../../git/gitServer.ts';
import { Repository } from '../../git/repository.ts';
import { TestPlatform } from '../testPlatform.ts';
import { useFolder } from '../../../../../test/support/temporaryFolder.ts';

const SECRET = 'a-webhook-secret';
const NOTHING = '0'.repeat(40);
const root = useFolder();
let server: GitServer;
const platform = TestPlatform.use({ gitPollMs: 0 });
let integrationId: string;

beforeAll(async () => {
  server = await GitServer.start(root);
  // Repositories are polled only when a test does so.
  await writeFile(join(root, 'webhook-secret'), `${SECRET}\n`);
  integrationId = await platform.register('/v1/integrations/github/install', {
    name: 'host',
    url_prefix: server.url,
    webhook_secret: `file:${join(root, 'webhook-secret')}`,
  });
});

afterAll(async () => {
  await server.close();
});

/** A repository, and a deployed deployment that follows its branch. */
class Followed {
  readonly id: string;
  readonly repository: Repository;
  readonly url: string;

  private constructor(id: string, repository: Repository, url: string) {
    this.id = id;
    this.repository = repository;
    this.url = url;
  }

  static async create(name: string, ref: string | null = 'main'): Promise<Followed> {
    const repository = await Repository.create(join(root, name));
    await repository.commit({ 'graph.json': '{}' });
    const url = `${server.url}/${name}/.git`;
    const id = await platform.create(name, {
      source: 'repo_host',
      source_config: { integration_id: integrationId, repo_url: url, build_on_push: true },
      source_revision_config: { graph_config_path: 'graph.json', repo_ref: ref },
    });
    onTestFinished(async () => {
      await platform.call('DELETE', `/v2/deployments/${id}`);
    });
    const followed = new Followed(id, repository, url);
    await platform.reaches(id, (await platform.deployment(id)).latest_revision_id, 'DEPLOYED');
    return followed;
  }

  /** The commits of the revisions that pushes created, oldest first. */
  async pushed(): Promise<unknown[]> {
    const rows = await platform.kysely
      .selectFrom('revisions')
      .select('source_revision_config')
      .where('deployment_id', '=', this.id)
      .where('requested_by', '=', 'push')
      .orderBy('number')
      .execute();
    return rows.map((row) => row.source_revision_config['repo_commit_sha']);
  }

  /** The host's push event. */
  push(before: string, after: string, more: Record<string, unknown> = {}): Record<string, unknown> {
    return {
      ref: 'refs/heads/main',
      before,
      after,
      repository: { clone_url: this.url, default_branch: 'main' },
      ...more,
    };
  }
}

let deliveries = 0;

async function deliver(
  payload: unknown,
  options: { event?: string; id?: string; secret?: string; signature?: string | null; form?: boolean } = {},
): Promise<{ status: number; json: Record<string, unknown> }> {
  const json = JSON.stringify(payload);
  const body = options.form === true ? new URLSearchParams({ payload: json }).toString() : json;
  const signature =
    options.signature === undefined
      ? `sha256=${createHmac('sha256', options.secret ?? SECRET)
          .update(body)
          .digest('hex')}`
      : options.signature;
  const response = await platform.app.request(`/v1/integrations/github/${integrationId}/webhook`, {
    method: 'POST',
    headers: {
      'content-type': options.form === true ? 'application/x-www-form-urlencoded' : 'application/json',
      'x-github-event': options.event ?? 'push',
      'x-github-delivery': options.id ?? `delivery-${++deliveries}`,
      ...(signature === null ? {} : { 'x-hub-signature-256': signature }),
    },
    body,
  });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

/** Makes the platform poll all repositories repeatedly, like its clock, until the test has ended. */
async function poll(): Promise<void> {
  await platform.controlPlane.close();
  await platform.start({ gitPollMs: 60 });
  onTestFinished(async () => {
    await platform.controlPlane.close();
    await platform.start({ gitPollMs: 0 });
  });
}

describe('a push reported by a webhook', () => {
  it('creates one revision of its commit, even if delivered repeatedly', async () => {
    const followed = await Followed.create('told');
    const before = await followed.repository.head();
    const after = await followed.repository.commit({ 'new.txt': '' });
    const push = followed.push(before, after);
    const first = await deliver(push, { id: 'the-same' });
    expect(first).toMatchObject({
      status: 202,
      json: { decision: 'built', deployments: [{ deployment_id: followed.id, decision: 'built' }] },
    });
    const { latest_revision_id: latest, source_revision_config: config } = await platform.deployment(
      followed.id,
    );
    expect(first.json['deployments']).toMatchObject([{ revision_id: latest }]);
    expect(config).toMatchObject({
      repo_commit_sha: after,
      repo_ref: 'main',
      graph_config_path: 'graph.json',
    });
    // The same delivery again, also concurrently; and the same push with other ids.
    const again = await Promise.all([1, 2, 3].map(() => deliver(push, { id: 'the-same' })));
    for (const each of again) expect(each.json).toEqual(first.json);
    const others = await Promise.all([1, 2, 3].map(() => deliver(push)));
    for (const each of others) expect(each).toMatchObject({ status: 200, json: { decision: 'nothing' } });
    await platform.reaches(followed.id, latest, 'DEPLOYED');
    expect(await followed.pushed()).toEqual([after]);
  });

  it('needs no API key, may be a form, and may be of the default branch', async () => {
    const followed = await Followed.create('form', null);
    const before = await followed.repository.head();
    const after = await followed.repository.commit({ 'new.txt': '' });
    expect(await deliver(followed.push(before, after), { form: true })).toMatchObject({ status: 202 });
    expect(await followed.pushed()).toEqual([after]);
  });

  it('back to an earlier commit creates a revision of it each time', async () => {
    const followed = await Followed.create('back-and-forth');
    const one = await followed.repository.head();
    const two = await followed.repository.commit({ 'new.txt': '' });
    await deliver(followed.push(one, two));
    await deliver(followed.push(two, one));
    await deliver(followed.push(one, two));
    expect(await followed.pushed()).toEqual([two, one, two]);
  });

  it('that is late, or follows a missed one, makes the platform read the repository', async () => {
    const followed = await Followed.create('out-of-order');
    const one = await followed.repository.head();
    const two = await followed.repository.commit({ two: '' });
    const three = await followed.repository.commit({ three: '' });
    expect(await deliver(followed.push(two, three))).toMatchObject({
      status: 202,
      json: { decision: 'looked_up', deployments: [{ decision: 'looked_up', revision_id: null }] },
    });
    await vi.waitFor(async () => expect(await followed.pushed()).toEqual([three]), { timeout: 10_000 });
    const asked = server.requests.length;
    expect((await deliver(followed.push(one, two))).json['decision']).toBe('looked_up');
    await vi.waitFor(() => expect(server.requests.length).toBeGreaterThan(asked + 1), { timeout: 10_000 });
    expect(await followed.pushed()).toEqual([three]);
  });

  it('of another branch or kind creates nothing, and the response says why', async () => {
    const followed = await Followed.create('elsewhere');
    const before = await followed.repository.head();
    const after = '1'.repeat(40);
    const said = async (more: Record<string, unknown>): Promise<unknown> => {
      const { status, json } = await deliver(followed.push(before, after, more));
      expect(status).toBe(200);
      expect(json['decision']).toBe('nothing');
      return json['reason'];
    };
    expect(await said({ ref: 'refs/heads/other' })).toMatch(/No deployment/);
    expect(await said({ ref: 'refs/tags/v1' })).toMatch(/is no branch/);
    expect(await said({ after: NOTHING, deleted: true })).toMatch(/was deleted/);
    expect(
      await said({ repository: { clone_url: `${server.url}/another`, default_branch: 'main' } }),
    ).toMatch(/No deployment/);
    expect((await deliver({ zen: '…' }, { event: 'ping' })).json['reason']).toMatch(/works/);
    expect((await deliver({ action: 'opened' }, { event: 'issues' })).status).toBe(200);
    await platform.patch(followed.id, { source_config: { build_on_push: false } });
    expect(await said({})).toMatch(/No deployment/);
    expect(await followed.pushed()).toEqual([]);
  });

  it('is not read without a webhook, and otherwise read only as far as needed', async () => {
    const send = async (id: string): Promise<{ status: number; read: number }> => {
      let read = 0;
      const body = new ReadableStream<Uint8Array>(
        {
          pull: (stream) => {
            read += 1;
            if (read > 30) stream.close();
            else stream.enqueue(new Uint8Array(1024 ** 2));
          },
        },
        { highWaterMark: 0 },
      );
      const { status } = await platform.app.request(`/v1/integrations/github/${id}/webhook`, {
        method: 'POST',
        headers: { 'x-hub-signature-256': 'sha256=00' },
        body,
        duplex: 'half',
      });
      return { status, read };
    };
    expect(await send(crypto.randomUUID())).toEqual({ status: 404, read: 0 });
    const { status, read } = await send(integrationId);
    expect(status).toBe(413);
    expect(read).toBeLessThan(8);
  });

  it('is rejected if its signature is invalid', async () => {
    const followed = await Followed.create('unsigned');
    const push = followed.push(await followed.repository.head(), '1'.repeat(40));
    expect((await deliver(push, { secret: 'another' })).status).toBe(401);
    for (const signature of [
      null,
      '',
      'sha256=',
      'sha1=00',
      `sha256=${'0'.repeat(64)}`,
      `sha256=${'g'.repeat(64)}`,
    ]) {
      expect((await deliver(push, { signature })).status, String(signature)).toBe(401);
    }
    expect((await deliver({ ...push, after: 'x' })).status).toBe(422);
    expect((await deliver('no event')).status).toBe(422);
    expect(await followed.pushed()).toEqual([]);
    const nobody = await platform.app.request(`/v1/integrations/github/${crypto.randomUUID()}/webhook`, {
      method: 'POST',
      headers: { 'x-hub-signature-256': 'sha256=00' },
      body: '{}',
    });
    expect(nobody.status).toBe(404);
  });
});

describe('a push found by polling', () => {
  it('creates one revision, also if a webhook reports it at the same moment', async () => {
    const followed = await Followed.create('both');
    await poll();
    const commits: string[] = [];
    for (let each = 0; each < 2; each += 1) {
      const before = await followed.repository.head();
      const after = await followed.repository.commit({ 'new.txt': String(each) });
      commits.push(after);
      // A webhook also delivers every other push.
      if (each % 2 === 0) await Promise.all([1, 2].map(() => deliver(followed.push(before, after))));
      await vi.waitFor(async () => expect(await followed.pushed()).toEqual(commits), { timeout: 10_000 });
    }
    const { latest_revision_id: latest } = await platform.deployment(followed.id);
    await platform.reaches(followed.id, latest, 'DEPLOYED');
    expect(await followed.pushed()).toEqual(commits);
  });

  it('during an outage of the platform creates exactly one revision after its start', async () => {
    const followed = await Followed.create('killed');
    const before = await followed.repository.head();
    const first = await followed.repository.commit({ first: '' });
    await deliver(followed.push(before, first), { id: 'before-the-kill' });
    const second = await followed.repository.commit({ second: '' });
    // As after `kill -9`: the earlier platform's work has no effect.
    await platform.start({ gitPollMs: 60 });
    onTestFinished(async () => {
      await platform.controlPlane.close();
      await platform.start({ gitPollMs: 0 });
    });
    await deliver(followed.push(before, first), { id: 'before-the-kill' });
    await deliver(followed.push(first, second));
    await vi.waitFor(async () => expect(await followed.pushed()).toEqual([first, second]), {
      timeout: 10_000,
    });
    const asked = server.requests.length;
    await vi.waitFor(() => expect(server.requests.length).toBeGreaterThan(asked + 4), { timeout: 10_000 });
    expect(await followed.pushed()).toEqual([first, second]);
  });

  it('creates none if a PATCH has just created a revision of that commit, or an earlier one serves again', async () => {
    const followed = await Followed.create('no-push');
    const { latest_revision_id: earlier } = await platform.deployment(followed.id);
    await followed.repository.commit({ 'new.txt': '' });
    await platform.patch(followed.id, { secrets: [] });
    const { latest_revision_id: patched } = await platform.deployment(followed.id);
    await platform.reaches(followed.id, patched, 'DEPLOYED');
    await platform.redeploy(followed.id, earlier);
    await platform.serves(followed.id, earlier);
    await poll();
    const asked = server.requests.length;
    await vi.waitFor(() => expect(server.requests.length).toBeGreaterThan(asked + 4), { timeout: 10_000 });
    expect(await followed.pushed()).toEqual([]);
    expect(await platform.deployment(followed.id)).toMatchObject({ latest_revision_id: patched });
  });

  it('is found although another repository hangs, and a third fails', async () => {
    const followed = await Followed.create('among-others');
    const failing = await Followed.create('failing');
    const hanging = await GitServer.start(root);
    onTestFinished(() => hanging.close());
    const hangingId = await platform.create('hanging', {
      source: 'repo_host',
      source_config: { repo_url: `${hanging.url}/failing/.git`, build_on_push: true },
      source_revision_config: { graph_config_path: 'graph.json', repo_ref: 'main' },
    });
    onTestFinished(async () => {
      await platform.call('DELETE', `/v2/deployments/${hangingId}`);
    });
    await platform.reaches(hangingId, (await platform.deployment(hangingId)).latest_revision_id, 'DEPLOYED');
    hanging.hangs = true;
    const answered = hanging.requests.length;
    await rm(failing.repository.path, { recursive: true });
    await poll();
    await vi.waitFor(() => expect(hanging.requests.length).toBeGreaterThan(answered), { timeout: 10_000 });
    const after = await followed.repository.commit({ 'new.txt': '' });
    await vi.waitFor(async () => expect(await followed.pushed()).toEqual([after]), { timeout: 10_000 });
    expect(platform.logged.join('')).toContain('the branches of a repository could not be read');
  });

  it('is not looked for if no deployment has build_on_push', async () => {
    const followed = await Followed.create('not-asked');
    await platform.patch(followed.id, { source_config: { build_on_push: false } });
    const asked = server.requests.length;
    await poll();
    const probe = await Followed.create('probe');
    await vi.waitFor(
      () =>
        expect(
          server.requests.slice(asked).filter((path) => path.startsWith('/probe/')).length,
        ).toBeGreaterThan(4),
      10_000,
    );
    expect(server.requests.slice(asked).filter((path) => path.startsWith('/not-asked/'))).toEqual([]);
    expect(await probe.pushed()).toEqual([]);
  });
});
