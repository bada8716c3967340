import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Repository } from '../platform/git/repository.ts';
import { Observer } from './observer.ts';
import { Project } from './project.ts';
import { Stack } from './stack.ts';

const GREETER = fileURLToPath(new URL('../../examples/greeter/', import.meta.url));

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start();
});
afterAll(() => stack.stop());

describe('a release of a git ref', () => {
  it('is built by the platform from the repository, serves, and says from which commit', async () => {
    const repository = await Repository.create(join(stack.folder, 'repositories', 'greeter'));
    await cp(GREETER, repository.path, {
      recursive: true,
      filter: (path) => !path.includes('node_modules') && !path.endsWith('slipway.yaml'),
    });
    const commit = await repository.commit({});
    const response = await fetch(`${stack.controlPlane}/v1/integrations/github/install`, {
      method: 'POST',
      headers: { 'x-api-key': stack.apiKey },
      body: JSON.stringify({ name: 'local', url_prefix: join(stack.folder, 'repositories') }),
    });
    const { id: integrationId } = (await response.json()) as { id: string };
    const project = await Project.create(stack, {
      example: 'greeter',
      deployment: 'from-git',
      target: {
        source: 'repo_host',
        repo: { url: repository.path, ref: 'main', integrationId, buildOnPush: false },
      },
    });
    const { code, text } = await project.ran('release', 'staging');
    expect(text).toContain('released');
    expect(code).toBe(0);
    const seen = new Observer(stack, 'from-git');
    expect(await seen.ask('Hello, I am Grace')).toContain('Grace');
    const { id, active_revision_id: active } = await seen.deployment();
    const revision = await stack.call('GET', `/v2/deployments/${id}/revisions/${active ?? ''}`);
    expect(revision).toMatchObject({
      status: 'DEPLOYED',
      source_revision_config: { repo_ref: 'main', repo_commit_sha: commit },
    });
  });
});
