import { delimiter, dirname } from 'node:path';

import { PROXY, proxyVariables } from './containedNetwork.ts';

/** The machine's variables that any program needs: paths, language, proxies and certificates. */
const MACHINE_VARIABLES = [
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'LC_ALL',
  'LC_CTYPE',
  'TZ',
  'TMPDIR',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
];

/** The package managers' caches and registries. Compared case-insensitively, as npm does. */
const PACKAGE_MANAGER_VARIABLES = new Set([
  'npm_config_registry',
  'npm_config_cache',
  'npm_config_userconfig',
  'npm_config_globalconfig',
  'npm_config_cafile',
  'npm_config_proxy',
  'npm_config_https_proxy',
  'npm_config_noproxy',
  'npm_config_strict_ssl',
  'pnpm_home',
  'corepack_home',
  // Corepack and Yarn 2 and later ignore npm's registry.
  'corepack_npm_registry',
  'yarn_npm_registry_server',
  'yarn_cache_folder',
  'bun_install',
]);

/**
 * The base environment of an agent's process: an allow-list of the machine's variables. Nothing else of the
 * platform's environment is passed on, so no secrets either.
 *
 * PATH begins with the running Node's directory, so that `node` and `npm` are that Node's. It omits
 * `node_modules/.bin` directories: under `npm run`, sources could otherwise use the platform's tools without
 * declaring them.
 */
export function agentBaseEnvironment(): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of MACHINE_VARIABLES) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  environment['PATH'] = searchPath(process.env['PATH'] ?? '');
  return environment;
}

/** The environment of install and build commands: {@link agentBaseEnvironment} and the package managers' variables. */
export function buildEnvironment(): Record<string, string> {
  const environment = agentBaseEnvironment();
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && PACKAGE_MANAGER_VARIABLES.has(name.toLowerCase())) environment[name] = value;
  }
  return { ...environment, ...WITHOUT_TERMINAL };
}

/** No prompts, colors or notices. */
const WITHOUT_TERMINAL = { CI: '1', NO_COLOR: '1', npm_config_update_notifier: 'false' };
/** The folder in a build's container for caches and temporary files, on the disk. */
export const CONTAINED_HOME = '/run/slipway-home';
/** Names no file of this machine. */
const OF_REGISTRY = /^(npm_config_(registry|strict_ssl)|corepack_npm_registry|yarn_npm_registry_server)$/i;

/** The environment of commands in a container: nothing of this machine but the package registries' addresses. */
export function containedBuildEnvironment(): Record<string, string> {
  const registry = Object.entries(process.env).filter(([name]) => OF_REGISTRY.test(name));
  return {
    ...(Object.fromEntries(registry) as Record<string, string>),
    ...WITHOUT_TERMINAL,
    ...proxyVariables(),
    // Yarn 2 and later read only their own.
    YARN_HTTP_PROXY: PROXY,
    YARN_HTTPS_PROXY: PROXY,
    HOME: CONTAINED_HOME,
    TMPDIR: CONTAINED_HOME,
  };
}

function searchPath(path: string): string {
  const directories = path
    .split(delimiter)
    .filter((directory) => directory !== '' && !/node_modules[\\/]\.bin$|node-gyp-bin$/.test(directory));
  return [...new Set([dirname(process.execPath), ...directories])].join(delimiter);
}

/** Each carries one variable whose name a shell drops (`my-key.x`) to the agent, before its code runs: `_0`, `_1`, … */
const CARRIER = 'SLIPWAY_AGENT_FURTHER_ENVIRONMENT_';

/** The environment in a form that passes through a shell. One variable each, because the system limits their size. */
export function packEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).map(([name, value], index) =>
      SHELL_NAME.test(name) ? [name, value] : [`${CARRIER}${index}`, `${name}=${value}`],
    ),
  );
}

/** Restores the packed variables in this process's environment. */
export function unpackEnvironment(): void {
  for (const [name, packed] of Object.entries(process.env)) {
    if (!name.startsWith(CARRIER) || packed === undefined) continue;
    Reflect.deleteProperty(process.env, name);
    const end = packed.indexOf('=');
    process.env[packed.slice(0, end)] = packed.slice(end + 1);
  }
}

const SHELL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
