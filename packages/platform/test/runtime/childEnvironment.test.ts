import { expect, it, vi } from 'vitest';

import { buildEnvironment } from '../../src/runtime/childEnvironment.ts';

it('a build on the machine gets the registry of each package manager, and no secret', () => {
  const registries = ['npm_config_registry', 'COREPACK_NPM_REGISTRY', 'YARN_NPM_REGISTRY_SERVER'];
  for (const name of registries) vi.stubEnv(name, 'https://registry.example');
  vi.stubEnv('YARN_NPM_AUTH_TOKEN', 'secret');
  const environment = buildEnvironment();
  for (const name of registries) expect(environment).toHaveProperty(name, 'https://registry.example');
  expect(Object.values(environment)).not.toContain('secret');
});
