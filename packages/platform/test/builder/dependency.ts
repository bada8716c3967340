import { createHash } from 'node:crypto';

import { archiveOf } from './archives.ts';

/**
 * A source that contains its one dependency as a tarball: npm really installs it, without a registry.
 * @param postinstall - the dependency's install script. Default: none.
 */
export function withDependency(
  source: Readonly<Record<string, string>>,
  postinstall?: string,
): Record<string, string | Buffer> {
  const dependencyManifest = { name: 'dep', version: '1.0.0', type: 'module', scripts: { postinstall } };
  const dependency = archiveOf([
    { path: 'package/package.json', content: JSON.stringify(dependencyManifest) },
    { path: 'package/index.js', content: 'export const answer = 42;' },
  ]);
  const integrity = `sha512-${createHash('sha512').update(dependency).digest('base64')}`;
  const manifest = { name: 'agent', version: '1.0.0', dependencies: { dep: 'file:dep-1.0.0.tgz' } };
  return {
    ...source,
    'dep-1.0.0.tgz': dependency,
    'package.json': JSON.stringify(manifest),
    'package-lock.json': JSON.stringify({
      name: 'agent',
      version: '1.0.0',
      lockfileVersion: 3,
      requires: true,
      packages: {
        '': manifest,
        'node_modules/dep': {
          ...{ version: '1.0.0', resolved: 'file:dep-1.0.0.tgz', integrity },
          hasInstallScript: postinstall !== undefined,
        },
      },
    }),
  };
}
