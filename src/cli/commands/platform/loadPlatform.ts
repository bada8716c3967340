import { SlipwayError } from '../../../domain/errors.ts';

/**
 * Loads a part of `@slipway/platform`, which is installed only on machines that run a platform.
 *
 * `await loadPlatform(() => import('@slipway/platform'))`
 */
export async function loadPlatform<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new SlipwayError(
      'SLIPWAY_PLATFORM_NOT_INSTALLED',
      'this command needs the platform, which is not installed; install it: npm install @slipway/platform',
      { cause: error },
    );
  }
}

/** Whether the package itself is missing, not one of its dependencies. */
function isMissing(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === 'ERR_MODULE_NOT_FOUND' &&
    error.message.includes("'@slipway/platform'")
  );
}
