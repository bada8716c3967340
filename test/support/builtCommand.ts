import { fileURLToPath } from 'node:url';

const { whyBuild } = (await import(new URL('../../scripts/build/freshness.mjs', import.meta.url).href)) as {
  readonly whyBuild: () => string | undefined;
};

/**
 * The file of the command `slipway`, where the build is one of these sources (`npm test` makes it so): it starts in a
 * fraction of the time that the sources take. Else undefined.
 */
export const BUILT_COMMAND =
  whyBuild() === undefined ? fileURLToPath(new URL('../../bin/slipway.js', import.meta.url)) : undefined;
