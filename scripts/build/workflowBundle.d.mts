import type { BundleOptions } from '@temporalio/worker';

export declare function bundleModules(
  folder: string,
  extension: '.js' | '.ts',
  options: Pick<BundleOptions, 'logger' | 'webpackConfigHook'>,
): Promise<string>;
