// External packages that are CommonJS, loaded as such.

/** Marks what this plugin made, and keeps it from being taken twice. */
const NAMESPACE = 'loaded-by-require';

/**
 * An esbuild plugin: packages that match stay outside of the bundle, and are loaded by `require`. `import` would give the
 * same, and read each of their files once more to find the names of its exports: a sixth of the time of a command that
 * asks Temporal.
 *
 * @param names - a regular expression that Go understands too, without flags.
 */
export function loadedByRequire(names) {
  return {
    name: NAMESPACE,
    setup(build) {
      build.onResolve({ filter: names }, ({ path, namespace }) =>
        namespace === NAMESPACE ? { path, external: true } : { path, namespace: NAMESPACE },
      );
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => ({
        contents: `module.exports = require(${JSON.stringify(path)});`,
        loader: 'js',
      }));
    },
  };
}
