import { delimiter, dirname } from 'node:path';

/** What any program needs of the machine's environment: where things are, the language, the way out. */
const OF_THE_MACHINE = [
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

/** Where package managers keep their caches and find their registries. Compared without case, as npm does. */
const OF_PACKAGE_MANAGERS = new Set([
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
  'yarn_cache_folder',
  'bun_install',
]);

/**
 * The environment that an agent's process starts from: an allow-list of the machine's own variables. Nothing
 * else of the platform's environment gets through, so neither do its secrets.
 *
 * PATH begins with the directory of the Node that runs now, so that `node` and `npm` are that Node's, and
 * leaves out `node_modules/.bin` directories: started through `npm run`, the platform would otherwise lend its
 * own tools to sources that do not declare them.
 */
export function agentBaseEnvironment(from: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of OF_THE_MACHINE) {
    const value = from[name];
    if (value !== undefined) environment[name] = value;
  }
  environment['PATH'] = searchPath(from['PATH'] ?? '');
  return environment;
}

/** The environment of install and build commands: {@link agentBaseEnvironment} and the package managers' places. */
export function buildEnvironment(from: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const environment = agentBaseEnvironment(from);
  for (const [name, value] of Object.entries(from)) {
    if (value !== undefined && OF_PACKAGE_MANAGERS.has(name.toLowerCase())) environment[name] = value;
  }
  // No questions, no colors, no notices: there is no terminal.
  return { ...environment, CI: '1', NO_COLOR: '1', npm_config_update_notifier: 'false' };
}

function searchPath(path: string): string {
  const directories = path
    .split(delimiter)
    .filter((directory) => directory !== '' && !/node_modules[\\/]\.bin$|node-gyp-bin$/.test(directory));
  return [...new Set([dirname(process.execPath), ...directories])].join(delimiter);
}

/**
 * Carries variables to an agent whose names a shell drops (`my-key.x`): it is started through one, and secrets may have
 * such names. They travel in one variable of their own, and the agent puts them back before its code sees anything.
 */
const CARRIER = 'SLIPWAY_AGENT_FURTHER_ENVIRONMENT';

/** The same environment, as it gets through a shell. */
export function packEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(env);
  const dropped = entries.filter(([name]) => !SHELL_NAME.test(name));
  if (dropped.length === 0) return { ...env };
  return {
    ...Object.fromEntries(entries.filter(([name]) => SHELL_NAME.test(name))),
    [CARRIER]: JSON.stringify(Object.fromEntries(dropped)),
  };
}

/** Puts what was packed back into this process's environment. */
export function unpackEnvironment(): void {
  const packed = process.env[CARRIER];
  Reflect.deleteProperty(process.env, CARRIER);
  if (packed !== undefined) Object.assign(process.env, JSON.parse(packed) as Record<string, string>);
}

const SHELL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
