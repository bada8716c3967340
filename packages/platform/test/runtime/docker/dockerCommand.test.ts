import { afterEach, expect, it, vi } from 'vitest';

import { createDocker } from '../../../src/runtime/docker/dockerCommand.ts';

afterEach(() => vi.unstubAllEnvs());

it('the docker command gets what names its engine and its logins to registries, and no secret of the platform', async () => {
  const given = {
    DOCKER_CONFIG: '/logins',
    REGISTRY_AUTH_FILE: '/logins/auth.json',
    CONTAINER_HOST: 'unix:///e',
  };
  for (const [name, value] of Object.entries(given)) vi.stubEnv(name, value);
  vi.stubEnv('SLIPWAY_MASTER_KEY', 'secret');
  const { code, stdout } = await createDocker('/usr/bin/env')({ args: [] });
  expect(code).toBe(0);
  for (const [name, value] of Object.entries(given)) expect(stdout).toContain(`${name}=${value}`);
  expect(stdout.join()).not.toContain('secret');
});
