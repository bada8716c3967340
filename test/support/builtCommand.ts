import { fileURLToPath } from 'node:url';

const { whyBuild } = (await import(new URL('../../scripts/build/freshness.mjs', import.meta.url).href)) as {
  readonly whyBuild: () => string | undefined;
};

/** The built `slipway` command, if the build is up to date; else undefined. It starts faster than the sources. */
export const BUILT_COMMAND =
  whyBuild() === undefined ? fileURLToPath(new URL('../../bin/slipway.js', import.meta.url)) : undefined;
