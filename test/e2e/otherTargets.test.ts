import { rename } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { Repository } from '../../packages/platform/test/git/repository.ts';
import { tenantHeaders } from '../../src/domain/target/targetSpec.ts';
import { NOTHING_OF_THE_MACHINE } from '../support/s3/awsEnvironment.ts';
import { S3_CREDENTIALS, startS3Server } from '../support/s3/s3Server.ts';
import { deployByHand } from './deployByHand.ts';
import { Observer } from './observer.ts';
import { slipway } from './processes.ts';
import { Project } from './project.ts';
import { goodAgent } from './servingDeployment.ts';
import { writeSmallAgent } from './smallAgent.ts';
import { useAuditedStack } from './useStack.ts';
import { CREATES } from '../../packages/contract/test/controlPlane/requests.ts';

const stack = useAuditedStack();

describe.concurrent('a deployment that was not made by Slipway', () => {
  it('restores its own revision if the first release is bad', async () => {
    const example = goodAgent(1);
    const project = await Project.create(stack, { example, deployment: 'foreign' });
    const { revisionId } = await deployByHand(stack, 'foreign', project.folder);
    const seen = new Observer(stack, 'foreign');

    await project.use({ says: 'No.' });
    const { code } = await project.ran('release', 'staging');

    expect(code).toBe(2);
    const result = await seen.result('release-1');
    expect(result.outcome).toBe('rolled_back');
    expect(result.baseline).toEqual({ revisionId, verified: true });
    expect((await seen.deployment()).active_revision_id).toBe(revisionId);
    expect(await seen.ask('Hello, I am Grace')).toContain('Grace');
  });
});

describe.concurrent('a target of the public vocabulary', () => {
  it('gets a deployment like a public client’s', async () => {
    const example = goodAgent(1);
    const target = { vocabulary: 'public', deploymentType: 'dev' };
    const project = await Project.create(stack, { example, deployment: 'public', target });
    await rename(join(project.folder, 'graph.json'), join(project.folder, 'langgraph.json'));
    const seen = new Observer(stack, 'public');

    const { code, text } = await project.ran('release', 'staging');

    expect(code, text).toBe(0);
    expect(await seen.ask('Hello, I am Grace')).toContain('Grace');
    expect(await seen.deployment()).toMatchObject({
      source_config: { deployment_type: 'dev' },
      source_revision_config: { langgraph_config_path: 'langgraph.json' },
    });
  });
});

describe.concurrent('a release of a git ref, on a target with a tenant', () => {
  const deployment = 'from-git';
  const tenantId = '0b7a3c52-6a0e-4a52-9d3c-7d2f8f1f6a11';

  it('is built from the repository, serves, records its commit, and changes nothing of another tenant', async () => {
    // Another tenant has a deployment of that name.
    const { id: another } = (await stack.call('POST', '/v2/deployments', {
      ...CREATES.internal_source,
      name: deployment,
    })) as { id: string };
    const before = await stack.call('GET', `/v2/deployments/${another}`);

    const repositories = join(stack.folder, 'repositories');
    const repository = await Repository.create(join(repositories, 'agent'));
    await writeSmallAgent(repository.path, goodAgent(1));
    const commit = await repository.commit({});
    const tenant = tenantHeaders({ tenantId });
    const local = { name: 'local', url_prefix: repositories };
    const { id: integrationId } = (await stack.call(
      'POST',
      '/v1/integrations/github/install',
      local,
      tenant,
    )) as { id: string };
    const repo = { url: repository.path, ref: 'main', integrationId, buildOnPush: false };
    const target = { tenantId, source: 'repo_host', repo };
    const project = await Project.create(stack, { example: goodAgent(1), deployment, target });
    const { code, text } = await project.ran('release', 'staging');

    expect(text).toContain('released');
    expect(code).toBe(0);
    const seen = new Observer(stack, deployment, tenantId);
    expect(await seen.ask('Hello, I am Grace')).toContain('Grace');
    const { id, active_revision_id: active } = await seen.deployment();
    const path = `/v2/deployments/${id}/revisions/${active ?? ''}`;
    expect(await stack.call('GET', path, undefined, tenant)).toMatchObject({
      status: 'DEPLOYED',
      source_revision_config: { repo_ref: 'main', repo_commit_sha: commit },
    });

    expect(await stack.call('GET', `/v2/deployments/${another}`)).toEqual(before);
    const audit = (await stack.call('GET', `/v1/audit?resource_id=${another}`)) as {
      resources: { operation: string }[];
    };
    expect(audit.resources.map(({ operation }) => operation)).toEqual(['createDeployment']);
  });
});

describe.concurrent('a release over S3', () => {
  it('is read by a worker of another home; during an outage of the store nothing is changed', async () => {
    const s3 = await startS3Server();
    const secret = 'the-secret-access-key-that-stands-nowhere';
    const env = {
      ...NOTHING_OF_THE_MACHINE,
      ...S3_CREDENTIALS,
      AWS_SECRET_ACCESS_KEY: secret,
      SLIPWAY_TASK_QUEUE: 'over-s3',
    };
    const home = join(stack.folder, 'another-home');
    const worker = slipway(['worker', '--json'], { env: { ...stack.env, ...env, SLIPWAY_HOME: home } });
    try {
      await worker.ready();
      const [example, deployment, store] = [goodAgent(1), 'over-s3', s3.storeUrl('over-s3')];
      const project = await Project.create(stack, { example, deployment, store, env });
      const seen = new Observer(stack, deployment);
      const released = await project.ran('release', 'staging');
      expect(released.code, released.text).toBe(0);
      expect(await seen.ask('Hello, I am Grace')).toContain('Grace');
      const before = await seen.deployment();

      s3.fault = (_request, response) => {
        response.writeHead(503).end();
        return true;
      };
      await project.touch('something else');
      const refused = await project.ran('release', 'staging');
      expect(refused.code, refused.text).toBe(6);
      expect(refused.text).toContain('SLIPWAY_ARTIFACT_STORE_UNAVAILABLE');
      expect(await seen.deployment()).toEqual(before);
      expect(await seen.shippedRevisions()).toHaveLength(1);

      const outputs = [
        await seen.historiesAsText(),
        released.text,
        refused.text,
        worker.stdout,
        worker.stderr,
      ];
      for (const text of outputs) {
        expect(text).not.toContain(secret);
        expect(text).not.toContain(S3_CREDENTIALS.AWS_ACCESS_KEY_ID);
      }
    } finally {
      await worker.kill();
      await s3.close();
    }
  });
});
