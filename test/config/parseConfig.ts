import { ConfigError } from '../../src/config/configError.ts';
import type { Config } from '../../src/config/configSchema.ts';
import { lintText } from '../../src/config/loadConfig.ts';

/** Reads the text of a `slipway.yaml` that extends nothing. @throws {@link ConfigError} */
export function parseConfig(
  text: string,
  file: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Config {
  const { config, problems } = lintText(text, file, environment);
  if (config !== undefined) return config;
  throw new ConfigError(
    file,
    problems.filter(({ severity }) => severity === 'error'),
  );
}
